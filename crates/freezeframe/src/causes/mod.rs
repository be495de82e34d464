//! The catalogue as a user has it: the built-in causes with those of a directory; and the command
//! that lists, shows and checks them.

mod page;
mod read;
mod trust;

use std::path::{Path, PathBuf};
use std::process::ExitCode;
use std::sync::OnceLock;

use anyhow::{Result, anyhow, bail};
use cli::{output, usage};
use diagnosis::{Catalogue, CatalogueError, Extended};
use model::OrderBy;
use serde_json::json;

use crate::args::{Causes, CausesCommand, CausesCommon};
use crate::config::Config;

/// Where a user's causes are when nobody said.
const DEFAULT_DIR: &str = "/etc/freezeframe/causes.d";

/// Set once at the start, read by everything that diagnoses.
static CATALOGUE: OnceLock<Known> = OnceLock::new();

/// The causes, with where the user's own come from.
struct Known {
    extended: Extended,
    /// The directory and the files that were read in it; empty without any.
    read_from: Vec<PathBuf>,
}

/// The causes that incidents are judged by.
pub(crate) fn catalogue() -> &'static Catalogue {
    &known().extended.catalogue
}

/// A cause as people call it; one that is known no more by its id.
pub(crate) fn title(id: &str) -> String {
    let cause = catalogue().get(id);
    cause.map_or_else(|| id.to_owned(), |cause| cause.title.clone())
}

fn known() -> &'static Known {
    CATALOGUE.get_or_init(|| read_known(&directory(None, None)))
}

fn read_known(directory: &Directory) -> Known {
    let loaded = load(directory);
    let read_from = loaded.read_from.clone();
    Known {
        extended: with_notices(loaded),
        read_from,
    }
}

/// Where the file of the cause `id` is, when that is not a place where every command looks.
pub(crate) fn own_directory(id: &str) -> Option<&'static Path> {
    let known = known();
    let directory = known.read_from.first().map(PathBuf::as_path);
    directory.filter(|path| known.extended.own.contains(id) && *path != Path::new(DEFAULT_DIR))
}

/// The names and titles of the user's own causes, as far as a built-in one has another.
pub(crate) fn own_words() -> Vec<&'static str> {
    let own = &known().extended.own;
    let causes = catalogue().causes().iter();
    let words = causes
        .filter(|cause| own.contains(&cause.id))
        .flat_map(|cause| {
            let built_in = Catalogue::builtin().get(&cause.id);
            let id = built_in.is_none().then_some(cause.id.as_str());
            let is_same = built_in.is_some_and(|known| known.title == cause.title);
            let title = (!is_same).then_some(cause.title.as_str());
            [id, title].into_iter().flatten()
        });
    words.collect()
}

/// Whether a cause is one that comes with the program.
pub(crate) fn is_built_in(id: &str) -> bool {
    Catalogue::builtin().get(id).is_some()
}

/// Whether a title is one of theirs.
pub(crate) fn is_built_in_title(title: &str) -> bool {
    let mut causes = Catalogue::builtin().causes().iter();
    causes.any(|cause| cause.title == title)
}

/// Fails when root would act on a cause that somebody else may have written.
pub(crate) fn refuse_untrusted(id: &str) -> Result<()> {
    let known = known();
    if !known.extended.own.contains(id) || !rustix::process::geteuid().is_root() {
        return Ok(());
    }
    let caller = rustix::process::getuid().as_raw();
    if let Err(problem) = trust::check(&known.read_from, caller) {
        bail!(
            "cause '{id}' is your own, and root follows only files that nobody else can write: {problem}; nothing was changed (chown root, chmod go-w)"
        );
    }
    Ok(())
}

/// Reads the user's causes, from `named` or where the configuration says. What is wrong with a file
/// is told on standard error, and the file is left out: a mistake in a cause must not stop a
/// recorder.
pub(crate) fn use_directory(named: Option<&Path>, config: &Config) {
    // What is wrong with a file is told once.
    if CATALOGUE.get().is_none() {
        let _ = CATALOGUE.set(read_known(&directory(named, Some(config))));
    }
    // Reading takes several times what the catalogue keeps.
    kernel::heap::give_back();
}

/// A directory that somebody named must be there; the default one need not.
struct Directory {
    path: PathBuf,
    is_named: bool,
}

fn directory(named: Option<&Path>, config: Option<&Config>) -> Directory {
    let configured = config.and_then(|config| config.causes_dir.as_deref());
    let path = named.or(configured);
    Directory {
        path: path.unwrap_or(Path::new(DEFAULT_DIR)).to_owned(),
        is_named: path.is_some(),
    }
}

/// The causes, and what could not be read at all.
struct Loaded {
    extended: Extended,
    /// The directory and its files.
    read_from: Vec<PathBuf>,
    unreadable: Vec<String>,
}

fn load(directory: &Directory) -> Loaded {
    let mut files = read::Files::default();
    if directory.is_named || directory.path.exists() {
        files.add_directory(&directory.path);
    }
    let read_from = match files.texts.is_empty() {
        true => Vec::new(),
        false => std::iter::once(directory.path.clone())
            .chain(files.texts.iter().map(|(path, _)| PathBuf::from(path)))
            .collect(),
    };
    Loaded {
        extended: Catalogue::extended(&files.texts),
        read_from,
        unreadable: files.unreadable,
    }
}

fn with_notices(loaded: Loaded) -> Extended {
    for problem in &loaded.unreadable {
        output::note(&format!("{problem}; left out"));
    }
    for problem in &loaded.extended.problems {
        output::note(&format!(
            "{problem}; this cause is left out (freezeframe causes lint)"
        ));
    }
    for id in &loaded.extended.replaced {
        output::note(&format!(
            "cause '{id}' is your own: the built-in one is not used"
        ));
    }
    loaded.extended
}

pub(crate) fn run(args: &Causes) -> Result<ExitCode> {
    match &args.command {
        None => list(&args.common),
        Some(CausesCommand::Show { id, common }) => show(id, common),
        Some(CausesCommand::Lint { paths, common }) => lint(paths, common),
    }
}

fn of_user(common: &CausesCommon) -> Result<Directory> {
    let config = Config::load(common.config.as_deref())?;
    Ok(directory(common.causes.as_deref(), Some(&config)))
}

fn list(common: &CausesCommon) -> Result<ExitCode> {
    let extended = with_notices(load(&of_user(common)?));
    let causes = extended.catalogue.causes();
    if common.json {
        let list: Vec<_> = causes
            .iter()
            .map(|cause| {
                json!({
                    "id": cause.id,
                    "title": cause.title,
                    "kinds": cause.kinds(),
                    "own": extended.own.contains(&cause.id),
                })
            })
            .collect();
        let all = json!({"causes": list, "problems": extended.problems});
        output::print_json(&all)?;
    } else {
        output::print(&page::list(
            causes,
            &extended.own,
            output::text_options().width,
        ))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn show(id: &str, common: &CausesCommon) -> Result<ExitCode> {
    let extended = with_notices(load(&of_user(common)?));
    let Some(cause) = extended.catalogue.get(id) else {
        let like: Vec<&str> = extended
            .catalogue
            .causes()
            .iter()
            .map(|cause| cause.id.as_str())
            .filter(|known| known.contains(id) || id.split('-').any(|word| known.contains(word)))
            .take(5)
            .collect();
        let hint = if like.is_empty() {
            "freezeframe causes lists them".to_owned()
        } else {
            format!("did you mean {}?", like.join(", "))
        };
        return Err(usage(anyhow!("no cause '{id}'; {hint}")));
    };
    let described = cause.describe();
    if common.json {
        output::print_json(&described)?;
    } else {
        output::print(&page::cause(&described, output::text_options().width))?;
    }
    Ok(ExitCode::SUCCESS)
}

fn lint(paths: &[PathBuf], common: &CausesCommon) -> Result<ExitCode> {
    let mut files = read::Files::default();
    if paths.is_empty() {
        let directory = of_user(common)?;
        if directory.is_named || directory.path.exists() {
            files.add_directory(&directory.path);
        }
    }
    for path in paths {
        if path.is_dir() {
            files.add_directory(path);
        } else {
            files.add_file(path);
        }
    }
    let count = files.texts.len();
    let mut extended = Catalogue::extended(&files.texts);
    extended
        .problems
        .order_by(|left, right| position(left).cmp(&position(right)));
    let sound = extended.problems.is_empty() && files.unreadable.is_empty();
    if common.json {
        let all = json!({
            "files": count,
            "sound": sound,
            "problems": extended.problems,
            "unreadable": files.unreadable,
            "replaces": extended.replaced,
        });
        output::print_json(&all)?;
    } else {
        let mut text = String::new();
        for problem in &files.unreadable {
            text += &format!("{}\n", output::plain(problem));
        }
        for problem in &extended.problems {
            text += &format!("{}\n", output::plain(&page::problem(problem)));
        }
        for id in &extended.replaced {
            text += &format!("{id}: replaces the built-in cause\n");
        }
        let problems = extended.problems.len() + files.unreadable.len();
        text += &format!(
            "{count} {}, {}",
            if count == 1 { "file" } else { "files" },
            match problems {
                0 => "nothing wrong".to_owned(),
                1 => "1 problem".to_owned(),
                many => format!("{many} problems"),
            }
        );
        output::print(&text)?;
    }
    Ok(if sound {
        ExitCode::SUCCESS
    } else {
        ExitCode::from(1)
    })
}

fn position(problem: &CatalogueError) -> (&str, usize, usize) {
    (&problem.file, problem.line, problem.column)
}
