//! The secrets that a task names, where it would send them, and whether config.toml grants that.

use std::collections::{BTreeMap, BTreeSet};

use super::Config;
use super::secret_grants::GrantError;
use super::secrets::{self, SecretError};
use crate::alert;
use crate::model::script::{literal_url, secret_names, secret_origins};
use crate::model::{GrantedSecret, Origin, Script, Task, TaskName};
use crate::tasks::{self, Problem, ROBOT_FILE, TASK_FILE, TaskFolder};

/// The secrets that a run needs. An alert's secrets are checked, too: a task without a grant for them does not run.
pub fn granted(config: &Config, folder: &TaskFolder) -> Result<BTreeMap<String, GrantedSecret>, SecretError> {
    let grants = config.grants.current().secret;
    let wanted = wanted_origins(&folder.task, &folder.script);
    for (name, proposed) in &wanted {
        grants.origins_for(name, &folder.name, proposed)?;
    }
    let names = secrets::names(&folder.task, &folder.script);
    let with_origins = |(name, value): (String, String)| {
        let origins = grants.origins_for(&name, &folder.name, &[])?.to_vec();
        Ok((name, GrantedSecret { value, origins }))
    };
    secrets::lookup_all(config, &names)?.into_iter().map(with_origins).collect()
}

/// The secrets of an alert target that a task names. Without a task, for a person who tries a target, the grant of any
/// task will do.
pub fn granted_for_alert(
    config: &Config,
    task: Option<&TaskName>,
    target: &str,
) -> Result<BTreeMap<String, GrantedSecret>, SecretError> {
    let names = alert::secret_names(target);
    let proposed: Vec<Origin> = alert::target_origin(target).into_iter().collect();
    let (grants, mut origins) = (config.grants.current().secret, BTreeMap::new());
    for name in &names {
        let granted = match (task, grants.get(name)) {
            (None, Some(grant)) => grant.origins.clone(),
            (None, None) if grants.is_reserved(name) => {
                return Err(GrantError::Reserved(name.clone()).into());
            }
            (None, None) => return Err(super::secret_grants::missing(name, "TASK", None, &proposed).into()),
            (Some(task), _) => grants.origins_for(name, task, &proposed)?.to_vec(),
        };
        origins.insert(name.clone(), granted);
    }
    let with_origins = |(name, value): (String, String)| {
        let origins = origins.remove(&name).unwrap_or_default();
        (name, GrantedSecret { value, origins })
    };
    Ok(secrets::lookup_all(config, &names)?.into_iter().map(with_origins).collect())
}

/// Every secret of the folder that config.toml does not grant to it, at the place that names it.
pub fn problems(config: &Config, folder: &TaskFolder) -> Vec<Problem> {
    let texts = tasks::read_texts(&folder.dir).unwrap_or_default();
    let files = [(ROBOT_FILE, texts.robot.as_deref().unwrap_or_default()), (TASK_FILE, &texts.task)];
    let (grants, mut found) = (config.grants.current().secret, Vec::new());
    for (name, proposed) in wanted_origins(&folder.task, &folder.script) {
        let Err(error) = grants.origins_for(&name, &folder.name, &proposed) else { continue };
        let spelled = format!("${{secret:{name}}}");
        let place = files.iter().find_map(|(file, text)| Some((file, text, text.find(&spelled)?)));
        found.push(match place {
            Some((file, text, at)) => {
                Problem::at(&folder.dir.join(file), text, at..at + spelled.len(), error.to_string())
            }
            None => Problem::new(&folder.dir, error.to_string()),
        });
    }
    found
}

/// Every secret that the task names, in its script, its proxy's address or its alert targets, with the origins that it
/// would be sent to, as far as one can tell without a run.
fn wanted_origins(task: &Task, script: &Script) -> BTreeMap<String, Vec<Origin>> {
    let mut wanted = secret_origins(script, task.url.as_ref());
    let proxies = task.fetch.proxy.iter().map(|proxy| {
        let names: BTreeSet<String> = secret_names(proxy).map(str::to_owned).collect();
        (names, literal_url(proxy).as_ref().and_then(Origin::of))
    });
    let targets = task.alert.urls.iter().map(|url| (alert::secret_names(url), alert::target_origin(url)));
    for (names, origin) in proxies.chain(targets) {
        for name in names {
            let list = wanted.entry(name).or_default();
            list.extend(origin.iter().filter(|it| !list.contains(it)).cloned().collect::<Vec<_>>());
        }
    }
    wanted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn proxies_and_alerts_want_their_secrets_for_their_own_origins() {
        let task: Task = toml::from_str(
            "fetch.proxy = 'http://me:${secret:p}@proxy.example:3128'\n\
             alert.urls = ['tgram://${secret:bot}/12', '${secret:hook}', 'ntfy://${secret:p}@n.example/topic']",
        )
        .expect("a task");
        let wanted = wanted_origins(&task, &Script::default());
        let texts = |origins: &Vec<Origin>| origins.iter().map(Origin::to_string).collect::<Vec<_>>();
        let wanted: Vec<(&str, Vec<String>)> = wanted.iter().map(|(name, it)| (name.as_str(), texts(it))).collect();
        assert_eq!(wanted[0], ("bot", vec!["https://api.telegram.org".to_owned()]));
        assert_eq!(wanted[1], ("hook", Vec::new()), "its address is the secret");
        assert_eq!(wanted[2].1, ["http://proxy.example:3128", "https://n.example"]);
    }
}
