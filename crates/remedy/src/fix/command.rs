//! A command as it is shown.

use server::is_private_option;

/// A command with the values of options left out that are a secret, or may hold one ([`is_private_option`]): our text may
/// end up in a ticket. They follow behind `=`, or as a word of their own.
fn without_secrets(command: &[String]) -> Vec<String> {
    const INSTEAD: &str = "...";
    let mut shown = Vec::with_capacity(command.len());
    let mut is_value = false;
    for word in command {
        if is_value && !word.starts_with('-') {
            shown.push(INSTEAD.to_owned());
            is_value = false;
            continue;
        }
        let (name, value) = match word.split_once('=') {
            Some((name, value)) => (name, Some(value)),
            None => (word.as_str(), None),
        };
        let is_secret =
            name.starts_with("--") && is_private_option(name, value.unwrap_or_default());
        is_value = is_secret && value.is_none();
        shown.push(match (is_secret, value) {
            (true, Some(_)) => format!("{name}={INSTEAD}"),
            _ => word.clone(),
        });
    }
    shown
}

/// Words of a command as a shell takes them, without secrets.
pub(super) fn to_text(command: &[String]) -> String {
    let command = without_secrets(command);
    let plain = |word: &str| {
        !word.is_empty()
            && word
                .bytes()
                .all(|b| b.is_ascii_alphanumeric() || b"_-.,:/=+@%".contains(&b))
    };
    let quoted: Vec<String> = command
        .iter()
        .map(|word| {
            if plain(word) {
                word.clone()
            } else {
                format!("'{}'", word.replace('\'', "'\\''"))
            }
        })
        .collect();
    quoted.join(" ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn shown(command: &[&str]) -> String {
        let command: Vec<String> = command.iter().map(|word| (*word).to_owned()).collect();
        to_text(&command)
    }

    #[test]
    fn a_command_is_shown_as_a_shell_takes_it() {
        assert_eq!(
            shown(&["/usr/sbin/mysqld", "--datadir=/srv/my data", "--port=3306"]),
            "/usr/sbin/mysqld '--datadir=/srv/my data' --port=3306"
        );
        assert_eq!(shown(&["x", "it's"]), "x 'it'\\''s'");
    }

    #[test]
    fn a_command_is_shown_without_secrets() {
        assert_eq!(
            shown(&["mysqld", "--wsrep_sst_auth=root:s3cret", "--user=mysql"]),
            "mysqld --wsrep_sst_auth=... --user=mysql"
        );
        assert_eq!(
            shown(&[
                "mysqld",
                "--wsrep-provider-options=socket.ssl_cipher=x",
                "--loose-acme-api-key=s3cret",
                "--proxy=https://me:s3cret@h/",
                "--validate-password-policy=LOW"
            ]),
            "mysqld --wsrep-provider-options=... --loose-acme-api-key=... --proxy=... --validate-password-policy=LOW"
        );
        assert_eq!(
            shown(&[
                "mysqld",
                "--init-connect=SET @a = 's3cret'",
                "--loose_init_slave",
                "SET @a = 's3cret'",
                "--wsrep_cluster_address=gcomm://h1,h2?socket.ssl_password=s3cret",
                "--plugin-load=auth_pam=auth_pam.so"
            ]),
            "mysqld --init-connect=... --loose_init_slave ... --wsrep_cluster_address=... --plugin-load=auth_pam=auth_pam.so"
        );
        assert_eq!(
            shown(&[
                "mysqld",
                "--Master-Password",
                "s3cret",
                "--ssl_passphrase",
                "--x"
            ]),
            "mysqld --Master-Password ... --ssl_passphrase --x"
        );
    }
}
