//! The inputs of a Java program: what its command gives it, and what a run replaces.

use std::path::Path;

use untorn_jvm_protocol::config::Config;
use untorn_jvm_protocol::java_home::is_java;
use untorn_schedule::{Input, InputPlace, Inputs};

use crate::program::{WITH_VALUE, is_junit, is_scenario};

/// Where in a command the words stand that name the program, and its arguments.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
struct Positions {
    /// `-jar`, `-m` or the main class.
    program: usize,
    arguments: usize,
}

/// `None` if the command is not `java` itself, takes its options from a file, or starts a class of ours.
fn positions(command: &[String]) -> Option<Positions> {
    let (java, _) = command.split_first()?;
    if !is_java(java) || is_junit(command) || is_scenario(command) {
        return None;
    }
    let mut at = 1;
    loop {
        let word = command.get(at)?.as_str();
        match word {
            "-jar" | "-m" | "--module" => {
                return Some(Positions { program: at, arguments: at + 2 });
            }
            _ if word.starts_with('@') => return None,
            _ if WITH_VALUE.contains(&word) => at += 2,
            _ if word.starts_with('-') => at += 1,
            _ => return Some(Positions { program: at, arguments: at + 1 }),
        }
    }
}

/// What the command gives the program: its arguments, and properties.
pub fn of_command(command: &[String]) -> Inputs {
    let Some(Positions { program, arguments }) = positions(command) else { return Inputs::none() };
    let mut inputs = Inputs::arguments(command.get(arguments..).unwrap_or_default().to_vec());
    let properties = command[1..program].iter().filter_map(|word| word.strip_prefix("-D"));
    for (name, value) in properties.filter_map(|word| word.split_once('=')) {
        if !is_of_jdk(name) {
            inputs.set(InputPlace::Property(name.to_owned()), value.to_owned());
        }
    }
    inputs
}

/// Properties that change what the JDK does, and not what the program is told.
fn is_of_jdk(name: &str) -> bool {
    ["java.", "jdk.", "sun.", "user.", "file.", "javax.", "stdout.", "stderr.", "com.sun."]
        .iter()
        .any(|prefix| name.starts_with(prefix))
}

/// Inputs that name a file or an address. They stay as they are: who knows what a program does to another one.
pub fn names_of_things(inputs: &Inputs) -> Vec<InputPlace> {
    let is_name = |text: &str| text.contains(['/', '\\', ':', '~']) || Path::new(text).exists();
    let named = inputs.iter().filter(|input| {
        input.place != InputPlace::StandardInput && !input.value.is_empty() && is_name(&input.value)
    });
    named.map(|input| input.place.clone()).collect()
}

/// The command with other inputs. A place that it does not have is left out.
pub fn with_inputs(command: &[String], inputs: &Inputs) -> Vec<String> {
    let mut words = command.to_vec();
    let Some(Positions { program, arguments }) = positions(command) else { return words };
    for Input { place, value } in inputs.iter() {
        if let InputPlace::Argument(at) = place
            && let Some(word) = words.get_mut(arguments + *at as usize)
        {
            word.clone_from(value);
        }
    }
    // Of several values the JVM takes the last.
    let properties = inputs.iter().filter_map(|input| match &input.place {
        InputPlace::Property(name) => Some(format!("-D{name}={}", input.value)),
        _ => None,
    });
    let new: Vec<String> = properties.filter(|word| !command.contains(word)).collect();
    words.splice(program..program, new);
    words
}

/// The arguments of the program, if the inputs say anything of them.
pub fn arguments(command: &[String], inputs: &Inputs) -> Option<Vec<String>> {
    let arguments = positions(command)?.arguments;
    let is_argument = |input: &Input| matches!(input.place, InputPlace::Argument(_));
    if !inputs.iter().any(is_argument) {
        return None;
    }
    let mut words = with_inputs(
        command,
        &inputs
            .iter()
            .filter(|input| is_argument(input))
            .map(|input| (input.place.clone(), input.value.clone()))
            .collect(),
    );
    Some(words.split_off(arguments.min(words.len())))
}

/// Environment variables that a run replaces.
pub fn variables(inputs: &Inputs) -> impl Iterator<Item = (String, String)> {
    inputs.iter().filter_map(|input| match &input.place {
        InputPlace::Environment(name) => Some((name.clone(), input.value.clone())),
        _ => None,
    })
}

/// Whether a JVM that has made other runs can make this one: what it was started with cannot be changed any more.
pub fn may_be_warm(config: &Config) -> bool {
    let is_of_start =
        |input: &Input| matches!(input.place, InputPlace::Property(_) | InputPlace::Environment(_));
    let is_plain = |c: char| c != '\0' && c != ARGUMENT_END && c < '\u{1_0000}';
    let words = config.arguments.iter().flatten();
    config.path_log.is_none()
        && !config.spec.inputs.iter().any(is_of_start)
        && words.flat_map(|word| word.chars()).all(is_plain)
}

/// Separates arguments on their way into a JVM.
const ARGUMENT_END: char = untorn_jvm_protocol::server::ARGUMENT_END;

#[cfg(test)]
mod tests {
    use super::*;

    fn words(text: &str) -> Vec<String> {
        text.split(' ').map(str::to_owned).collect()
    }

    #[test]
    fn arguments_stand_behind_the_program() {
        for (command, arguments) in [
            ("java -cp classes Main 1 2", "1 2"),
            ("/jdk/bin/java -Xmx1g -jar app.jar -v x", "-v x"),
            ("java -p mods -m a/b.Main x", "x"),
        ] {
            assert_eq!(of_command(&words(command)), Inputs::arguments(words(arguments)));
        }
        for command in ["mvn test", "java @options Main 1", "java -cp classes"] {
            assert_eq!(of_command(&words(command)), Inputs::none(), "{command}");
        }
    }

    #[test]
    fn what_names_a_file_stays() {
        let mut inputs =
            Inputs::arguments(["12", "out/log.txt", "Cargo.toml", "localhost:80", "", "add"]);
        inputs.set(InputPlace::StandardInput, "12/7".to_owned());
        let named = [1, 2, 3].map(InputPlace::Argument);
        assert_eq!(names_of_things(&inputs), named);
    }

    #[test]
    fn a_command_gets_other_inputs() {
        let command = words("java -Dmode=slow -Djava.io.tmpdir=/tmp -cp classes Main 1 2");
        let mut inputs = Inputs::arguments(["1", "2"]);
        inputs.set(InputPlace::Property("mode".to_owned()), "slow".to_owned());
        assert_eq!(of_command(&command), inputs);
        assert_eq!(with_inputs(&command, &inputs), command);
        inputs.set(InputPlace::Property("mode".to_owned()), "fast".to_owned());
        inputs.set(InputPlace::Argument(1), "7".to_owned());
        let changed =
            words("java -Dmode=slow -Djava.io.tmpdir=/tmp -cp classes -Dmode=fast Main 1 7");
        assert_eq!(with_inputs(&command, &inputs), changed);
        assert_eq!(with_inputs(&changed, &inputs), changed);
        assert_eq!(arguments(&command, &inputs), Some(words("1 7")));
        assert_eq!(arguments(&command, &Inputs::none()), None);
    }
}
