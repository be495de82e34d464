//! Redacts an error log: `cargo run -p freezeframe-server-text --example redact < error.log`.

use std::io::Read;

fn main() -> std::io::Result<()> {
    let mut raw = Vec::new();
    std::io::stdin().read_to_end(&mut raw)?;
    let text = String::from_utf8_lossy(&raw);
    #[expect(clippy::print_stdout, reason = "an example for the terminal")]
    {
        print!("{}", server_text::error_log(&text).body());
    }
    Ok(())
}
