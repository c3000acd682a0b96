//! The arguments that select the program.

use std::path::PathBuf;

use clap::Args;

#[derive(Args, Clone, Debug, Default)]
pub struct ProgramArgs {
    /// Run a JUnit 4 or 5 test without a build tool: com.acme.BankTest, or com.acme.BankTest#method
    #[arg(long, value_name = "TEST", conflicts_with_all = ["main", "test"])]
    pub junit: Option<String>,

    /// The class path of --junit, with JUnit on it; also written -cp
    #[arg(long, value_name = "PATH", requires = "junit")]
    pub class_path: Option<String>,

    /// Of the JVMs that the command starts, the one with this main class or jar; `*` stands for any text
    #[arg(long, value_name = "PATTERN")]
    pub main: Option<String>,

    /// Of the JVMs that Maven starts, the one that runs this test class; `*` stands for any text
    #[arg(long, value_name = "PATTERN")]
    pub test: Option<String>,

    /// Keep this variable of the environment in traces, so that a replay sets it; may be repeated
    #[arg(long, value_name = "NAME")]
    pub env: Vec<String>,

    /// The program, as it is started without untorn [default: that of untorn.toml, or of the report]
    #[arg(last = true, value_name = "COMMAND")]
    pub command: Vec<String>,

    /// Where it runs; the current folder if there is none.
    #[arg(skip)]
    pub directory: Option<PathBuf>,
}
