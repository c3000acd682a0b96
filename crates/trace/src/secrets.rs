//! What looks like a secret: in command lines and in the names of variables.
//!
//! May miss some: nobody knows every name for a password. What it finds is left out of what is passed on.

/// In place of a secret.
pub const MASK: &str = "***";

/// Parts of names of options, properties and variables whose values nobody passes on.
const NAMES: [&str; 20] = [
    "accesskey",
    "apikey",
    "auth",
    "cookie",
    "credential",
    "dsn",
    "jdbc",
    "keypass",
    "passphrase",
    "passwd",
    "password",
    "pgpass",
    "privatekey",
    "pwd",
    "secret",
    "sessionid",
    "signingkey",
    "storepass",
    "token",
    "webhook",
];

/// How tokens of well-known services begin.
const TOKENS: [&str; 11] = [
    "AKIA",
    "ASIA",
    "eyJ",
    "ghp_",
    "gho_",
    "ghs_",
    "github_pat_",
    "glpat-",
    "sk-",
    "xoxb-",
    "xoxp-",
];

/// Whether the value of something of that name is a secret: `DB_PASSWORD`, `db.password`, `--api-key`.
pub fn is_secret_name(name: &str) -> bool {
    let letters: String = name.chars().filter(char::is_ascii_alphanumeric).collect();
    let letters = letters.to_ascii_lowercase();
    let last = name.rsplit(|c: char| !c.is_ascii_alphanumeric()).next().unwrap_or(name);
    NAMES.iter().any(|part| letters.contains(part)) || last.eq_ignore_ascii_case("pin")
}

/// A command without its secrets: values of options and properties that are named like one, user names and passwords
/// in addresses, and tokens.
pub fn without_secrets(command: &[String]) -> Vec<String> {
    let mut masked = Vec::with_capacity(command.len());
    let mut value_is_secret = false;
    for word in command {
        // An option, and its value in the next word.
        let is_value = std::mem::take(&mut value_is_secret) && !word.starts_with('-');
        value_is_secret = word.starts_with("--") && !word.contains('=') && is_secret_name(word);
        masked.push(if is_value { MASK.to_owned() } else { without_secret(word) });
    }
    masked
}

/// Whether some of it was masked.
pub fn is_masked(command: &[String]) -> bool {
    command.iter().any(|word| word.contains(MASK))
}

/// One word of a command, which may consist of several (`-Da=b -Dc=d`).
pub fn without_secret(word: &str) -> String {
    word.split_inclusive([' ', ',', ';', '&', '?']).map(part_without_secret).collect()
}

fn part_without_secret(part: &str) -> String {
    let end = part.trim_end_matches([' ', ',', ';', '&', '?']);
    let behind = &part[end.len()..];
    if let Some((name, value)) = end.split_once('=')
        && is_secret_name(name)
        && !value.is_empty()
    {
        return format!("{name}={MASK}{behind}");
    }
    let value_at = end.find('=').map_or(0, |at| at + 1);
    if TOKENS.iter().any(|token| end[value_at..].starts_with(token)) && end.len() - value_at > 15 {
        return format!("{}{MASK}{behind}", &end[..value_at]);
    }
    match user_of_address(end) {
        Some(user) => format!("{}{MASK}{}{behind}", &end[..user.start], &end[user.end..]),
        None => part.to_owned(),
    }
}

/// Where an address (`https://user:password@host/`) has its user.
fn user_of_address(text: &str) -> Option<std::ops::Range<usize>> {
    let start = text.find("://")? + 3;
    let host = text[start..].find('/').map_or(text.len(), |at| start + at);
    let end = start + text[start..host].rfind('@')?;
    Some(start..end)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn masked(command: &str) -> String {
        let words: Vec<String> = command.split('|').map(str::to_owned).collect();
        without_secrets(&words).join("|")
    }

    #[test]
    fn secrets_of_a_command_are_masked() {
        for (command, expected) in [
            ("java|-Ddb.password=s3cret|Main", "java|-Ddb.password=***|Main"),
            ("java|-Ddb.user=ann|-cp|a:b|Main|10", "java|-Ddb.user=ann|-cp|a:b|Main|10"),
            ("app|--password|s3cret|--port|81", "app|--password|***|--port|81"),
            ("app|--api-key=abc", "app|--api-key=***"),
            ("app|--token|--verbose", "app|--token|--verbose"),
            ("app|https://ann:s3cret@host/path", "app|https://***@host/path"),
            (
                "app|jdbc:db://host/x?user=ann&password=p&ssl=1",
                "app|jdbc:db://host/x?user=ann&password=***&ssl=1",
            ),
            ("app|mail@host/https://host/a@b", "app|mail@host/https://host/a@b"),
            ("app|ghp_0123456789abcdef0123", "app|***"),
            ("app|-Dx=eyJhbGciOiJIUzI1NiJ9.e30", "app|-Dx=***"),
            (
                "sh|-c|PASSWORD=a ./run -Dkey.store.pass=1",
                "sh|-c|PASSWORD=*** ./run -Dkey.store.pass=***",
            ),
            ("java|-Xms1g -Dsecret=1 -Xmx2g", "java|-Xms1g -Dsecret=*** -Xmx2g"),
        ] {
            assert_eq!(masked(command), expected);
            let is_same = command == expected;
            assert_eq!(is_masked(&[masked(command)]), !is_same, "{command}");
        }
    }

    #[test]
    fn variables_that_hold_secrets_are_known_by_name() {
        for name in [
            "MYSQL_PWD",
            "PGPASSWORD",
            "SSH_PASSPHRASE",
            "SENTRY_DSN",
            "SLACK_WEBHOOK_URL",
            "GITHUB_TOKEN",
            "JDBC_CONNECTION",
            "GPG_PIN",
            "AWS_ACCESS_KEY_ID",
        ] {
            assert!(is_secret_name(name), "{name}");
        }
        for name in ["LANG", "LC_ALL", "TZ", "JAVA_HOME", "PATH", "JAVA_OPTS", "--spin"] {
            assert!(!is_secret_name(name), "{name}");
        }
    }
}
