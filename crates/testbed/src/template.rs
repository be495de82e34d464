//! The data directory of the installed server, made once and copied for each server: its installer takes some seconds
//! on a busy machine, and the tests start hundreds of servers.

use std::fs;
use std::hash::{DefaultHasher, Hash, Hasher};
use std::io;
use std::path::{Path, PathBuf};

use crate::Error;
use crate::files::copy_directory;

/// How the names of templates begin; the rest tells of which programs they are.
const PREFIX: &str = "installed-";

/// Makes the data directory `to`: a copy of the template for these programs and options in `cache`, which `install`
/// makes where it is missing. Where nothing can be kept each server has its own installation.
pub(crate) fn datadir(
    cache: &Path,
    of: (&[&Path], &[&str]),
    to: &Path,
    install: impl Fn(&Path) -> Result<(), Error>,
) -> Result<(), Error> {
    let Ok(template) = key(of).map(|key| cache.join(format!("{PREFIX}{key:016x}"))) else {
        return install(to);
    };
    if template.is_dir() && copied(&template, to) {
        return Ok(());
    }
    install(to)?;
    // Whoever is first has made it. That it could not be kept is no error: the next server installs again.
    let _ = keep(cache, to, &template);
    Ok(())
}

/// Other programs, as after an upgrade, have another key.
fn key((programs, options): (&[&Path], &[&str])) -> io::Result<u64> {
    let mut hasher = DefaultHasher::new();
    for program in programs {
        let file = fs::metadata(program)?;
        (program, file.len(), file.modified()?).hash(&mut hasher);
    }
    options.hash(&mut hasher);
    Ok(hasher.finish())
}

/// Copies the template. One that somebody takes away meanwhile, or that cannot be read, leaves nothing behind.
fn copied(template: &Path, to: &Path) -> bool {
    let is_whole = copy_directory(template, to).is_ok();
    if !is_whole {
        let _ = fs::remove_dir_all(to);
    }
    is_whole
}

/// Keeps a directory as the template, and takes those of other programs away. It has its name when it is whole.
fn keep(cache: &Path, made: &Path, template: &Path) -> Result<(), Error> {
    let failed = || Error::io(format!("keep {}", template.display()));
    if !cache.is_absolute() {
        return Ok(());
    }
    fs::create_dir_all(cache).map_err(failed())?;
    let part = tempfile::Builder::new()
        .prefix(".part-")
        .tempdir_in(cache)
        .map_err(failed())?;
    copy_directory(made, &part.path().join("data"))?;
    fs::rename(part.path().join("data"), template).map_err(failed())?;
    // Whoever is copying one of them fails when it has another name, and installs; without files it would succeed.
    for (number, other) in others(cache, template).into_iter().enumerate() {
        let _ = fs::rename(other, part.path().join(number.to_string()));
    }
    Ok(())
}

fn others(cache: &Path, template: &Path) -> Vec<PathBuf> {
    let entries = fs::read_dir(cache).into_iter().flatten().flatten();
    entries
        .filter(|entry| entry.file_name().to_string_lossy().starts_with(PREFIX))
        .map(|entry| entry.path())
        .filter(|path| path != template)
        .collect()
}

#[cfg(test)]
mod tests {
    use std::cell::Cell;

    use super::*;

    #[test]
    fn one_installation_serves_all_servers_until_the_programs_change() {
        let dir = tempfile::tempdir().unwrap();
        let cache = dir.path().join("cache");
        let program = dir.path().join("program");
        fs::write(&program, "1").unwrap();
        let installed = Cell::new(0);
        let install = |to: &Path| {
            installed.set(installed.get() + 1);
            fs::create_dir(to).unwrap();
            fs::write(to.join("file"), installed.get().to_string()).unwrap();
            Ok(())
        };
        let make = |name: &str, options: &[&str]| {
            let to = dir.path().join(name);
            datadir(&cache, (&[&program], options), &to, install).unwrap();
            fs::read_to_string(to.join("file")).unwrap()
        };
        assert_eq!(make("a", &["--x"]), "1");
        assert_eq!(make("b", &["--x"]), "1");
        fs::write(dir.path().join("b/file"), "a server's own").unwrap();
        assert_eq!(make("c", &["--x"]), "1");
        assert_eq!(make("d", &["--y"]), "2");
        fs::write(&program, "22").unwrap();
        assert_eq!(make("e", &["--y"]), "3");
        let kept = fs::read_dir(&cache).unwrap().count();
        assert_eq!(kept, 1, "templates of other programs are left");
    }

    #[test]
    fn without_a_place_for_it_each_server_is_installed() {
        let dir = tempfile::tempdir().unwrap();
        let file = dir.path().join("file");
        fs::write(&file, "").unwrap();
        for (name, cache) in [("a", file.join("cache")), ("b", PathBuf::new())] {
            let to = dir.path().join(name);
            datadir(&cache, (&[&file], &[]), &to, |to| {
                fs::create_dir(to).map_err(Error::io("install"))
            })
            .unwrap();
            assert!(to.is_dir());
        }
    }
}
