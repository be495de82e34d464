//! Lists the readers of `src/sources/` by their thread: adding a source is adding its reader.

use std::collections::BTreeMap;

fn main() -> std::io::Result<()> {
    embed::statics("src/sources", "Reader", "sources.rs", |readers| {
        let (mut threads, mut brought) = (BTreeMap::<&str, String>::new(), String::new());
        for reader in readers {
            *threads.entry(&reader.of).or_default() += &format!("&{}, ", reader.path);
            brought += &format!("    ({0}.source, {0}.signals),\n", reader.path);
        }
        let threads = threads.values();
        let threads = threads.map(|readers| {
            format!("    |context| worker::start(context, const {{ &[{readers}] }}),\n")
        });
        format!(
            "\nstatic THREADS: &[fn(&Context) -> io::Result<()>] = &[\n{}];\n\
             \nstatic BROUGHT: &[(&str, &[Signals])] = &[\n{brought}];\n",
            threads.collect::<String>()
        )
    })
}
