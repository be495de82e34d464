-- Where the threads of each stack stand: as `functions` in sums.rs says it, for stores that were filled without it.
WITH (
    SELECT (groupArray(frame_id), groupArray(function),
            groupArray(NOT (startsWith(module, '[') OR startsWith(module, 'lib') OR startsWith(module, 'ld-'))))
    FROM (SELECT frame_id, function, toString(module) AS module FROM frames FINAL)
) AS book, named AS (
    SELECT stack_id, kind, functions,
           if(functions = '', 0, reinterpretAsUInt64(substring(SHA256(functions), 1, 8))) AS place
    FROM (
        SELECT stack_id, kind, arrayStringConcat(arraySlice(arrayFilter(name -> name <> '', arrayMap(
                   frame -> transform(frame, book.1, book.2, ''),
                   if(kind = 'oncpu', frames,
                      arrayFilter(frame -> transform(frame, book.1, book.3, toUInt8(0)) = 1, frames))
               )), 1, 3), ' < ') AS functions
        FROM (SELECT stack_id, frames FROM stack_frames FINAL) ARRAY JOIN ['oncpu', 'wait'] AS kind
    )
)
