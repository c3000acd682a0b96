//! `./dev test deny`: what the packages that we link may be, by the lists of `deny.toml`.
//!
//! It checks licences, versions and sources, which `cargo metadata` prints without a network. `./dev deny` runs the
//! full tool, which also asks the database of advisories.

use std::collections::{BTreeMap, BTreeSet};

use anyhow::{Context, Result, bail};
use serde::Deserialize;

use crate::shell::{cargo, output};

#[derive(Deserialize)]
struct Metadata {
    packages: Vec<Package>,
}

#[derive(Deserialize)]
struct Package {
    name: String,
    version: String,
    license: Option<String>,
    /// None for packages of this repository.
    source: Option<String>,
}

/// The part of `deny.toml` that is checked here.
#[derive(Deserialize)]
struct Rules {
    licenses: Licenses,
    bans: Bans,
}

#[derive(Deserialize)]
struct Licenses {
    allow: BTreeSet<String>,
}

#[derive(Deserialize)]
struct Bans {
    skip: Vec<Skip>,
}

#[derive(Deserialize)]
struct Skip {
    #[serde(rename = "crate")]
    name: String,
}

pub fn check() -> Result<()> {
    let rules = std::fs::read_to_string("deny.toml").context("deny.toml")?;
    let rules: Rules = toml::from_str(&rules).context("deny.toml")?;
    let listed = output(cargo(&["metadata", "--locked", "--format-version", "1"]))?;
    let metadata: Metadata = serde_json::from_str(&listed)?;
    let faults = faults(&metadata.packages, &rules);
    if !faults.is_empty() {
        bail!("dependencies:\n{}", faults.join("\n"));
    }
    Ok(())
}

fn faults(packages: &[Package], rules: &Rules) -> Vec<String> {
    let mut faults = Vec::new();
    let mut versions: BTreeMap<&str, BTreeSet<&str>> = BTreeMap::new();
    for package in packages {
        let Package { name, version, license, source } = package;
        versions.entry(name).or_default().insert(version);
        let license = license.as_deref().unwrap_or("no licence");
        if !is_allowed(license, &rules.licenses.allow) {
            faults.push(format!("{name} {version} is under {license}, which is not in the list"));
        }
        if source.as_ref().is_some_and(|source| !source.starts_with("registry+")) {
            faults.push(format!("{name} {version} does not come from a registry"));
        }
    }
    let is_skipped = |name: &str| rules.bans.skip.iter().any(|skip| skip.name == name);
    let doubles = versions.iter().filter(|(name, found)| found.len() > 1 && !is_skipped(name));
    faults.extend(doubles.map(|(name, found)| format!("{name} is linked in versions {found:?}")));
    faults
}

/// Whether a licence expression leaves a choice that the list allows. Of parentheses there is at most one pair,
/// in front.
fn is_allowed(expression: &str, allowed: &BTreeSet<String>) -> bool {
    if let Some((inner, rest)) =
        expression.strip_prefix('(').and_then(|rest| rest.split_once(") AND "))
    {
        return is_allowed(inner, allowed) && is_allowed(rest, allowed);
    }
    // Old packages separate alternatives by a slash.
    expression
        .split(" OR ")
        .flat_map(|choice| choice.split('/'))
        .any(|choice| choice.split(" AND ").all(|license| allowed.contains(license)))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn licences_are_alternatives_or_all_needed() {
        let allowed = BTreeSet::from(["MIT".to_owned(), "Unicode-3.0".to_owned()]);
        for good in
            ["MIT", "MIT OR X", "X/MIT", "(MIT OR X) AND Unicode-3.0", "MIT AND Unicode-3.0"]
        {
            assert!(is_allowed(good, &allowed), "{good}");
        }
        for bad in ["X", "MIT AND X", "(MIT OR X) AND Y", "", "no licence"] {
            assert!(!is_allowed(bad, &allowed), "{bad}");
        }
    }

    #[test]
    fn each_fault_is_told() {
        let package = |name: &str, version: &str, license: &str, source: &str| Package {
            name: name.to_owned(),
            version: version.to_owned(),
            license: Some(license.to_owned()),
            source: Some(source.to_owned()),
        };
        let rules = Rules {
            licenses: Licenses { allow: BTreeSet::from(["MIT".to_owned()]) },
            bans: Bans { skip: vec![Skip { name: "b".to_owned() }] },
        };
        let packages = [
            package("a", "1", "MIT", "registry+x"),
            package("a", "2", "GPL-3.0", "git+x"),
            package("b", "1", "MIT", "registry+x"),
            package("b", "2", "MIT", "registry+x"),
        ];
        let found = faults(&packages, &rules);
        assert_eq!(found.len(), 3, "{found:?}");
    }
}
