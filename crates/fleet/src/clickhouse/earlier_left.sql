SELECT uniqExact(incident_id) FROM stacks
WHERE kind IN ('oncpu', 'wait') AND phase IN ('baseline', 'before', 'stall')
  AND incident_id NOT IN (SELECT incident_id FROM stack_sums)
