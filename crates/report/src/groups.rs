//! Findings by block: a headline for each block, below it its variables, below them patterns and places.
//!
//! A finding is a block, a variable and a pattern. Who has to mend a block wants to see all of them together.

use crate::model::{Finding, FindingKind};
use crate::phrasing::count;
use crate::text::plain;

/// The findings of one block, in the order in which they were found.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct BlockGroup<'a> {
    pub block: &'a str,
    pub variables: Vec<VariableGroup<'a>>,
}

/// The findings of one block that are about one variable.
#[derive(Clone, PartialEq, Eq, Debug)]
pub struct VariableGroup<'a> {
    pub variable: &'a str,
    pub findings: Vec<&'a Finding>,
}

impl BlockGroup<'_> {
    pub fn len(&self) -> usize {
        self.variables.iter().map(|variable| variable.findings.len()).sum()
    }

    pub fn is_empty(&self) -> bool {
        self.variables.is_empty()
    }

    /// What is wrong with the block, in a line: `3 violations of Cache.get: key, value`.
    pub fn headline(&self) -> String {
        let names: Vec<String> =
            self.variables.iter().map(|variable| plain(variable.variable)).collect();
        let often = count(self.len() as u64, "violation");
        format!("{often} of {}: {}", plain(self.block), names.join(", "))
    }

    /// A line for each finding: `key RWW: violation 2, at Cache.java:12, Cache.java:15`.
    pub fn lines(&self) -> Vec<String> {
        let line = |variable: &str, finding: &Finding| {
            let pattern = finding.evidence.as_ref().map_or("", |evidence| &evidence.pattern);
            let places: Vec<String> = places(finding).into_iter().map(plain).collect();
            let (number, places) = (finding.number, places.join(", "));
            format!("{} {pattern}: violation {number}, at {places}", plain(variable))
        };
        let of = |group: &VariableGroup<'_>| {
            group.findings.iter().map(|finding| line(group.variable, finding)).collect::<Vec<_>>()
        };
        self.variables.iter().flat_map(of).collect()
    }
}

/// Where the conflicting accesses of a finding are, each place once.
fn places(finding: &Finding) -> Vec<&str> {
    let ends = finding.edges.iter().flat_map(|edge| [edge.from, edge.to]);
    let mut places: Vec<&str> = Vec::new();
    for place in ends.map(|index| finding.operations[index].place.as_str()) {
        if !places.contains(&place) {
            places.push(place);
        }
    }
    places
}

/// The violations of a check by block and variable, in the order in which they were found.
pub fn by_block<'a>(findings: impl Iterator<Item = &'a Finding>) -> Vec<BlockGroup<'a>> {
    let mut groups: Vec<BlockGroup<'a>> = Vec::new();
    for finding in findings.filter(|finding| finding.kind == FindingKind::Torn) {
        let named = finding.evidence.as_ref().filter(|evidence| !evidence.block.is_empty());
        let Some(evidence) = named else { continue };
        let known = groups.iter().position(|group| group.block == evidence.block);
        let at = known.unwrap_or_else(|| {
            groups.push(BlockGroup { block: &evidence.block, variables: Vec::new() });
            groups.len() - 1
        });
        let variables = &mut groups[at].variables;
        match variables.iter_mut().find(|group| group.variable == evidence.variable) {
            Some(group) => group.findings.push(finding),
            None => variables
                .push(VariableGroup { variable: &evidence.variable, findings: vec![finding] }),
        }
    }
    groups
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::model::Evidence;

    fn finding(number: u32, block: &str, variable: &str, pattern: &str) -> Finding {
        let mut finding = Finding::new(Vec::new(), Vec::new(), Vec::new(), 1);
        finding.number = number;
        finding.evidence = Some(Evidence {
            block: block.to_owned(),
            variable: variable.to_owned(),
            pattern: pattern.to_owned(),
            ..Evidence::default()
        });
        finding
    }

    #[test]
    fn a_block_has_one_headline_and_its_variables_in_order() {
        let all = [
            finding(1, "Cache.get", "Cache.value", "RWW"),
            finding(2, "Pool.take", "Pool.size", "RWR"),
            finding(3, "Cache.get", "Cache.key", "WRW"),
            finding(4, "Cache.get", "Cache.value", "RWR"),
        ];
        let groups = by_block(all.iter());
        let headlines: Vec<String> = groups.iter().map(BlockGroup::headline).collect();
        assert_eq!(
            headlines,
            [
                "3 violations of Cache.get: Cache.value, Cache.key",
                "1 violation of Pool.take: Pool.size"
            ]
        );
        let numbers = |group: &VariableGroup<'_>| {
            group.findings.iter().map(|finding| finding.number).collect::<Vec<_>>()
        };
        assert_eq!(
            groups[0].variables.iter().map(numbers).collect::<Vec<_>>(),
            [vec![1, 4], vec![3]]
        );
    }
}
