//! SIGKILL at random moments while changes are made and put back.

use std::time::{Duration, Instant};

use crate::scene::{Random, Scene, text};

/// Rounds of each of the scenes, and what their random moments begin with.
const ROUNDS: usize = 32;
const SEEDS: [u64; 2] = [0x5eed_f1c5, 0x5eed_f1c6];

/// Two scenes at a time: in each one program follows the other.
#[test]
fn whenever_it_is_killed_the_tree_is_as_before_after_an_undo() {
    let interrupted: usize = std::thread::scope(|scope| {
        let scenes = SEEDS.map(|seed| scope.spawn(move || killed_at_random(seed)));
        scenes.map(|scene| scene.join().unwrap()).iter().sum()
    });
    assert!(
        interrupted > 0,
        "no kill fell between the first and the last change"
    );
}

/// How many of the kills fell between the first and the last change.
fn killed_at_random(seed: u64) -> usize {
    let scene = Scene::new();
    let before = scene.tree();
    let mut random = Random(seed);
    let causes = ["thp-compaction", "pagecache-writeback", "malloc-arena"];
    // How long a whole one takes, the fastest of some.
    let mut whole = Duration::MAX;
    for _ in 0..3 {
        let begin = Instant::now();
        scene.json(&["thp-compaction", "--apply", "--yes"]);
        whole = whole.min(begin.elapsed());
        scene.json(&["--undo", "all"]);
        assert_eq!(scene.tree(), before);
    }
    let (mut changed, mut interrupted) = (0, 0);
    for round in 0..ROUNDS {
        let cause = causes[random.below(3) as usize];
        // Some for a time: their watchdogs put back what was interrupted, beside all others.
        let arguments: &[&str] = match random.below(5) {
            0 => &[cause, "--apply", "--yes", "--for", "1h"],
            _ => &[cause, "--apply", "--yes"],
        };
        // Half of them once something is changed, however slow the machine is.
        let mut child = scene.start(arguments);
        if random.below(2) == 0 {
            while scene.tree() == before && child.try_wait().unwrap().is_none() {}
        } else {
            std::thread::sleep(Duration::from_micros(
                random.below(whole.as_micros() as u64),
            ));
        }
        child.kill().unwrap();
        child.wait().unwrap();
        changed += usize::from(scene.tree() != before);
        let list = scene.json(&["--list"]);
        let states = list["fixes"].as_array().unwrap();
        interrupted += states
            .iter()
            .filter(|entry| entry["state"] == "applying")
            .count();
        match random.below(3) {
            // The undo is killed as well.
            0 => {
                let mut child = scene.start(&["--undo", "all"]);
                std::thread::sleep(Duration::from_micros(
                    random.below(whole.as_micros() as u64),
                ));
                child.kill().unwrap();
                child.wait().unwrap();
            }
            // The next start puts back what was interrupted.
            1 => {
                scene.json(&["general-log", "--apply", "--yes"]);
            }
            _ => {}
        }
        text(&scene.run(&["--undo", "all"]));
        assert_eq!(scene.tree(), before, "round {round} of {seed:#x}, {cause}");
    }
    eprintln!(
        "{ROUNDS} rounds: {changed} killed with something changed, {interrupted} interrupted"
    );
    interrupted
}
