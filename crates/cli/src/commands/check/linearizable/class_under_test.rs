//! Which operations of a class are called, and how an object of it is made.

use untorn_jvm::{ClassFacts, Member, SequentialJvm};
use untorn_linearizability::{Constructor, Operation};

use crate::exit::{CliError, Result};

/// Values of the parameters of a constructor that are tried: often they are a capacity, and many classes want a power
/// of two.
const SIZES: [u32; 4] = [2, 4, 1, 8];

/// Public methods that are no operations of a data structure, unless somebody names them.
const COMMON: [&str; 5] = ["equals", "hashCode", "toString", "clone", "finalize"];

/// Most operations that an error lists.
const MAX_LISTED: usize = 12;

/// What is asked for: a class, and some of its operations, or all.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClassSelection {
    pub class: String,
    pub operations: Vec<String>,
}

/// What is called.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct ClassUnderTest {
    pub name: String,
    pub constructors: Vec<Constructor>,
    pub operations: Vec<Operation>,
    /// Methods that are not called, and why, in words.
    pub left_out: Vec<String>,
}

impl ClassUnderTest {
    /// Asks the JVM what the class has.
    pub fn find(request: &ClassSelection, jvm: &mut SequentialJvm) -> Result<Self> {
        let ClassSelection { class, operations } = request;
        let facts = jvm.describe(class)?.ok_or_else(|| {
            CliError::input(format!("the class {class} was not found")).way_out(
                "is it on the class path? -- java -cp classes; a nested class is written com.acme.Outer$Inner",
            )
        })?;
        let constructors = constructors(class, &facts)?;
        let (operations, left_out) = match operations.is_empty() {
            true => all_operations(class, &facts)?,
            false => (named_operations(class, &facts, operations)?, Vec::new()),
        };
        Ok(Self { name: class.clone(), constructors, operations, left_out })
    }

    /// Whether nothing that is called returns anything.
    pub fn returns_nothing(&self) -> bool {
        self.operations.iter().all(Operation::is_void)
    }
}

/// The simplest constructor, public ones first, with different arguments.
fn constructors(class: &str, facts: &ClassFacts) -> Result<Vec<Constructor>> {
    let own = |member: &Member| Constructor {
        descriptor: member.descriptor.clone(),
        arguments: Vec::new(),
    };
    let usable =
        facts.constructors.iter().filter(|member| member.obstacle.is_none() && !facts.is_abstract);
    let simplest =
        usable.min_by_key(|member| (!member.is_preferred, own(member).parameter_count()));
    let Some(simplest) = simplest else {
        let why = match (facts.is_abstract, facts.constructors.first()) {
            (true, _) => "it is abstract".to_owned(),
            (_, None) => "all of its constructors are private".to_owned(),
            (_, Some(own)) => format!(
                "its constructors want a {}, of which no value can be made",
                own.obstacle.as_deref().unwrap_or("value")
            ),
        };
        return Err(CliError::input(format!("no object of {class} can be made: {why}")).way_out(
            "write a small class beside your tests that extends or wraps it and has a constructor without parameters",
        ));
    };
    let constructor = own(simplest);
    let count = constructor.parameter_count();
    let sizes = if count == 0 { &SIZES[..1] } else { &SIZES[..] };
    let with = |&size: &u32| Constructor { arguments: vec![size; count], ..constructor.clone() };
    Ok(sizes.iter().map(with).collect())
}

fn operation(member: &Member) -> Operation {
    Operation { name: member.name.clone(), descriptor: member.descriptor.clone() }
}

fn all_operations(class: &str, facts: &ClassFacts) -> Result<(Vec<Operation>, Vec<String>)> {
    let own = facts.methods.iter().filter(|member| member.is_preferred);
    let own = own.filter(|member| !COMMON.contains(&member.name.as_str()));
    let (usable, rest): (Vec<&Member>, Vec<&Member>) =
        own.partition(|member| member.obstacle.is_none());
    if usable.is_empty() {
        return Err(CliError::input(format!(
            "{class} declares no public method that could be called"
        ))
        .details(rest.iter().map(|member| not_called(member)))
        .way_out(
            "name inherited ones with --with-ops, or write a small class that calls what you mean",
        ));
    }
    let left_out = rest.iter().map(|member| not_called(member)).collect();
    Ok((usable.into_iter().map(operation).collect(), left_out))
}

fn not_called(member: &Member) -> String {
    let obstacle = member.obstacle.as_deref().unwrap_or("parameter");
    format!("{} is not called: no value of {obstacle} can be made", operation(member))
}

fn named_operations(class: &str, facts: &ClassFacts, names: &[String]) -> Result<Vec<Operation>> {
    let mut all = Vec::new();
    for name in names {
        let named: Vec<&Member> =
            facts.methods.iter().filter(|member| member.name == *name).collect();
        let usable = named.iter().filter(|member| member.obstacle.is_none());
        let before = all.len();
        all.extend(usable.map(|member| operation(member)));
        if named.is_empty() {
            return Err(CliError::input(format!("{class} has no public method {name}"))
                .way_out(format!("it has: {}", names_of(facts))));
        }
        if all.len() == before {
            return Err(CliError::input(format!("{name} of {class} cannot be called"))
                .details(named.iter().map(|member| not_called(member)))
                .way_out(
                    "parameters may be numbers, texts, enums, arrays and collections of them, Object, and functions; \
                     for others write a small class that calls it",
                ));
        }
    }
    Ok(all)
}

fn names_of(facts: &ClassFacts) -> String {
    let mut names: Vec<&str> = facts.methods.iter().map(|member| member.name.as_str()).collect();
    names.dedup();
    let more = if names.len() > MAX_LISTED { ", …" } else { "" };
    names.truncate(MAX_LISTED);
    if names.is_empty() { "none".to_owned() } else { format!("{}{more}", names.join(", ")) }
}
