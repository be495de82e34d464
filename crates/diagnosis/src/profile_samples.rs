//! The samples of all profiles by stack, as signs look at them: each of dozens looks at a few stacks of thousands.

use model::StackId;

use crate::grouped::Grouped;

/// Samples of a stack in one profile, of threads of one name.
#[derive(Clone, Copy, Default)]
pub(crate) struct Samples {
    /// The profile's place in the record.
    pub(crate) profile: u32,
    /// Of the server's threads.
    pub(crate) server: bool,
    pub(crate) count: u64,
}

/// The samples of all profiles.
pub(crate) struct ProfileSamples {
    /// For each profile how many there are, of the server and of the whole machine.
    pub(crate) totals: Vec<(u64, u64)>,
    by_stack: Grouped<Samples>,
}

impl ProfileSamples {
    /// `stacks` is how many stacks the record has.
    pub(crate) fn new(profiles: &[model::Profile], stacks: usize) -> Self {
        let mut totals = vec![(0_u64, 0_u64); profiles.len()];
        for (profile, (server, machine)) in profiles.iter().zip(&mut totals) {
            for row in &profile.counts {
                *machine = machine.saturating_add(row.count);
                *server = server.saturating_add(if row.server { row.count } else { 0 });
            }
        }
        let rows = (0..).zip(profiles).flat_map(|(place, profile)| {
            let rows = profile.counts.iter();
            rows.map(move |row| {
                let samples = Samples {
                    profile: place,
                    server: row.server,
                    count: row.count,
                };
                (row.stack.0 as usize, samples)
            })
        });
        Self {
            by_stack: Grouped::new(stacks, rows),
            totals,
        }
    }

    /// Those of one stack, by profile.
    pub(crate) fn of(&self, stack: StackId) -> &[Samples] {
        self.by_stack.of(stack.0 as usize)
    }
}
