//! Which module imports which, at every level of src: the siblings of each folder with the arrows between them.
//!
//! A name that a module re-exports counts as an import of the module that defines it. A folder's own file is no sibling
//! of the files in it. A file beside a folder of the same name is one module with it.

use std::collections::{BTreeMap, BTreeSet};

use super::paths::{PathKind, SourcePath, paths};

/// The names from the crate's root to a module.
pub type ModulePath = Vec<String>;

/// How many re-exports may follow each other.
const MOST_REEXPORTS: usize = 8;

#[derive(Clone, Debug)]
pub struct Arrow {
    pub from: ModulePath,
    pub to: ModulePath,
    /// `to` is not what the path says: a module on the way re-exports it.
    pub is_reexport: bool,
    /// File, line and path.
    pub example: String,
}

#[derive(Default)]
pub struct ModuleGraph {
    modules: BTreeSet<ModulePath>,
    /// The names that each module's `use` declarations bind, with their paths.
    bindings: BTreeMap<ModulePath, BTreeMap<String, Vec<String>>>,
    globs: BTreeMap<ModulePath, Vec<Vec<String>>>,
    imports: Vec<(ModulePath, SourcePath, String)>,
}

/// The module of a file of src. A folder's own file is the folder's module.
pub fn module_of(file: &str) -> ModulePath {
    let mut names: ModulePath = file.trim_end_matches(".rs").split('/').map(str::to_owned).collect();
    if names.last().is_some_and(|last| last == "mod") || names == ["lib"] {
        names.pop();
    }
    names
}

/// A set of siblings that import each other in a circle, with the arrows among them.
#[derive(Debug)]
pub struct Cycle {
    /// `learn/find`; empty for src itself.
    pub folder: String,
    pub modules: Vec<String>,
    pub arrows: Vec<String>,
}

impl ModuleGraph {
    /// From the files of src, each with its path below src and its text.
    pub fn new<'a>(files: impl IntoIterator<Item = (&'a str, &'a str)>) -> ModuleGraph {
        let mut graph = ModuleGraph::default();
        for (file, text) in files {
            let module = module_of(file);
            for depth in 0..=module.len() {
                graph.modules.insert(module[..depth].to_vec());
            }
            for path in paths(text) {
                let scope: ModulePath = module.iter().chain(&path.scope).cloned().collect();
                graph.modules.insert(scope.clone());
                match &path.kind {
                    PathKind::Use(name) => {
                        let names = graph.bindings.entry(scope.clone()).or_default();
                        names.insert(name.clone(), path.segments.clone());
                    }
                    PathKind::Glob => graph.globs.entry(scope.clone()).or_default().push(path.segments.clone()),
                    PathKind::Inline => {}
                }
                let example = format!("{file}:{} {}", path.line, path.segments.join("::"));
                graph.imports.push((scope, path, example));
            }
        }
        graph
    }

    /// Each import of another module, by the path as it is written and by what it stands for.
    pub fn arrows(&self) -> Vec<Arrow> {
        let mut found = Vec::new();
        for (from, path, example) in &self.imports {
            let Some(target) = self.absolute(from, &path.segments, MOST_REEXPORTS) else { continue };
            let mut reached = self.reached(&target, MOST_REEXPORTS);
            if path.kind == PathKind::Glob {
                let names = self.bindings.get(&target).into_iter().flat_map(|names| names.keys());
                reached.extend(names.flat_map(|name| self.reached(&below(&target, name), MOST_REEXPORTS)));
            }
            found.extend(reached.into_iter().enumerate().map(|(at, to)| Arrow {
                from: from.clone(),
                to,
                is_reexport: at > 0,
                example: example.clone(),
            }));
        }
        found
    }

    /// The path from the crate's root; none for a path into another crate, or to a name of the module's own.
    fn absolute(&self, scope: &[String], segments: &[String], most: usize) -> Option<Vec<String>> {
        let (head, rest) = segments.split_first()?;
        let mut base = match head.as_str() {
            "crate" | "pieme" => Vec::new(),
            "self" => scope.to_vec(),
            "super" => {
                let (_, parent) = scope.split_last()?;
                let ups = rest.iter().take_while(|name| *name == "super").count();
                return self.absolute(&parent[..parent.len() - ups], &with_self(&rest[ups..]), most);
            }
            name if self.modules.contains(&below(scope, name)) => below(scope, name),
            name => {
                let bound = self.bindings.get(scope)?.get(name)?;
                self.absolute(scope, bound, most.checked_sub(1)?)?
            }
        };
        base.extend_from_slice(rest);
        Some(base)
    }

    /// The modules that an absolute path leads through: where it ends, and where re-exports lead from there.
    fn reached(&self, path: &[String], most: usize) -> Vec<ModulePath> {
        let depth = (0..=path.len()).rev().find(|&depth| self.modules.contains(&path[..depth])).unwrap_or(0);
        let (module, rest) = path.split_at(depth);
        let mut found = vec![module.to_vec()];
        let Some(most) = most.checked_sub(1) else { return found };
        let Some((name, rest)) = rest.split_first() else { return found };
        let bound = self.bindings.get(module).and_then(|names| names.get(name)).cloned();
        // What a glob brings is not known by name: all of its modules count.
        let globs = self.globs.get(module).into_iter().flatten().map(|glob| below(glob, name));
        let targets = bound.map_or_else(|| globs.collect(), |bound| vec![bound]);
        for target in targets {
            if let Some(mut target) = self.absolute(module, &target, most) {
                target.extend_from_slice(rest);
                found.extend(self.reached(&target, most));
            }
        }
        found
    }

    /// The circles of every folder.
    pub fn cycles(&self) -> Vec<Cycle> {
        let mut folders: BTreeMap<ModulePath, BTreeMap<String, BTreeMap<String, String>>> = BTreeMap::new();
        for Arrow { from, to, example, .. } in self.arrows() {
            let shared = from.iter().zip(&to).take_while(|(from, to)| from == to).count();
            if let (Some(user), Some(used)) = (from.get(shared), to.get(shared)) {
                let siblings = folders.entry(from[..shared].to_vec()).or_default();
                siblings.entry(user.clone()).or_default().entry(used.clone()).or_insert(example);
            }
        }
        folders.iter().flat_map(|(folder, siblings)| circles(&folder.join("/"), siblings)).collect()
    }
}

fn below(module: &[String], name: &str) -> ModulePath {
    module.iter().cloned().chain([name.to_owned()]).collect()
}

fn with_self(rest: &[String]) -> Vec<String> {
    ["self".to_owned()].into_iter().chain(rest.iter().cloned()).collect()
}

fn circles(folder: &str, siblings: &BTreeMap<String, BTreeMap<String, String>>) -> Vec<Cycle> {
    let reach: BTreeMap<&str, BTreeSet<&str>> =
        siblings.keys().map(|from| (from.as_str(), reachable(siblings, from))).collect();
    let mut found: Vec<Cycle> = Vec::new();
    for from in siblings.keys().map(String::as_str) {
        let is_known = found.iter().any(|cycle| cycle.modules.iter().any(|module| module == from));
        if is_known || !reach[from].contains(from) {
            continue;
        }
        let back = |to: &&&str| reach.get(**to).is_some_and(|onward| onward.contains(from));
        let modules: Vec<String> = reach[from].iter().filter(back).map(|to| (*to).to_owned()).collect();
        let among = |to: &&String| modules.contains(to);
        let arrows = modules.iter().flat_map(|from| {
            let used = siblings[from].iter().filter(move |(to, _)| among(to));
            used.map(move |(to, example)| format!("  {from} → {to}: {example}"))
        });
        let arrows = arrows.collect();
        found.push(Cycle { folder: folder.to_owned(), modules, arrows });
    }
    found
}

fn reachable<'a>(siblings: &'a BTreeMap<String, BTreeMap<String, String>>, from: &str) -> BTreeSet<&'a str> {
    let mut found = BTreeSet::new();
    let mut open: Vec<&str> = vec![from];
    while let Some(next) = open.pop() {
        for to in siblings.get(next).into_iter().flat_map(|used| used.keys()) {
            if found.insert(to.as_str()) {
                open.push(to);
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `folder: a b` for each cycle.
    fn cycles(files: &[(&str, &str)]) -> Vec<String> {
        let graph = ModuleGraph::new(files.iter().copied());
        graph.cycles().iter().map(|cycle| format!("{}: {}", cycle.folder, cycle.modules.join(" "))).collect()
    }

    fn check(files: &[(&str, &str)], expected: &[&str]) {
        assert_eq!(cycles(files), expected, "{files:?}");
    }

    #[test]
    fn a_cycle_by_braces_is_found() {
        check(&[("m/a.rs", "use super::{x, b::{T, U}};"), ("m/b.rs", "use crate::{m::{a, c}};")], &["m: a b"]);
    }

    #[test]
    fn a_cycle_by_super_is_found_at_the_level_of_the_siblings() {
        let files = [("m/a/deep/x.rs", "use super::super::super::b::T;"), ("m/b.rs", "fn f() { super::a::g() }")];
        check(&files, &["m: a b"]);
    }

    #[test]
    fn a_cycle_by_a_reexport_is_found() {
        let parent = ("m/mod.rs", "mod a; mod b; pub use b::{Thing as Other};");
        check(&[parent, ("m/a.rs", "use super::Other;"), ("m/b.rs", "use super::a::f;")], &["m: a b"]);
        check(&[parent, ("m/a.rs", "use super::Unknown;"), ("m/b.rs", "use super::a::f;")], &[]);
        let glob = ("m/mod.rs", "pub use b::*;");
        check(&[glob, ("m/a.rs", "use super::Thing;"), ("m/b.rs", "use super::a::f;")], &["m: a b"]);
        check(&[parent, ("m/a.rs", "use super::*;"), ("m/b.rs", "use super::a::f;")], &["m: a b"]);
    }

    #[test]
    fn a_cycle_by_an_inline_path_is_found() {
        check(&[("m/a.rs", "fn f() { crate::m::b::g() }"), ("m/b.rs", "fn g(t: super::a::T) {}")], &["m: a b"]);
        let bound = [("a.rs", "use crate::m; fn f() { m::b::g() }"), ("m/b.rs", "use crate::a;"), ("m/c.rs", "")];
        check(&bound, &[": a m"]);
    }

    #[test]
    fn a_cycle_of_three_is_one_cycle_and_a_chain_is_none() {
        let chain = [("m/a.rs", "use super::b;"), ("m/b.rs", "use super::c;"), ("m/d.rs", "use super::a;")];
        check(&chain, &[]);
        let mut round = chain.to_vec();
        round.push(("m/c.rs", "use super::a;"));
        check(&round, &["m: a b c"]);
    }

    #[test]
    fn a_file_beside_its_folder_is_one_module_with_it() {
        check(&[("m/a.rs", "use super::b;"), ("m/b/x.rs", "use crate::m::a::T;"), ("m/b.rs", "")], &["m: a b"]);
        check(&[("m/b.rs", "mod x; use x::T;"), ("m/b/x.rs", "use super::U;")], &[]);
    }

    #[test]
    fn neither_a_parent_nor_another_crate_is_a_sibling() {
        check(&[("m/mod.rs", "use a::T;"), ("m/a.rs", "use super::U; use std::fmt; use b::c;"), ("b.rs", "")], &[]);
    }

    #[test]
    fn the_arrow_says_where_it_is() {
        let graph = ModuleGraph::new([("m/a.rs", "\nuse super::b::T;"), ("m/b.rs", "use super::a;")]);
        let arrows = graph.cycles().pop().map(|cycle| cycle.arrows);
        let expected = ["  a → b: m/a.rs:2 super::b::T", "  b → a: m/b.rs:1 super::a"];
        assert_eq!(arrows.unwrap_or_default(), expected);
    }
}
