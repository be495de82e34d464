//! What people tell in their own words and in languages that few of our texts are in: the words for the commonest things.

use diagnosis::{Catalogue, diagnose_closely};
use import::{Input, import};

fn first_of(text: &str) -> Option<String> {
    let bytes = text.as_bytes();
    let incident = import(&[Input { path: "x", bytes }]).incident?;
    let verdict = diagnose_closely(&incident, Catalogue::builtin());
    verdict.findings.first().map(|one| one.cause.clone())
}

#[test]
fn words_of_many_languages_point_at_the_commonest_causes() {
    for (text, cause) in [
        (
            "Nowe połączenia trwają równo 10 sekund, istniejące działają szybko. Zaczęło się po wyłączeniu starego serwera nazw w sieci.",
            "dns-resolve",
        ),
        (
            "Sedan namnservern byttes tar varje ny anslutning fem sekunder.",
            "dns-resolve",
        ),
        (
            "Kiedy restartujemy jedyną replikę, każdy zapis na masterze trwa dokładnie 10 sekund, potem wszystko wraca do normy.",
            "semisync-ack",
        ),
        (
            "Le worker ouvre une transaction, met à jour le solde, puis appelle l'API de la banque avant de valider. Toutes les autres mises à jour du même compte attendent, puis erreur au bout de 50 secondes.",
            "row-lock-pileup",
        ),
        (
            "Iedere avond staat de winkel stil met te veel verbindingen.",
            "max-connections",
        ),
        (
            "Éjjel megtelt a lemez, azóta nem megy a rendelés.",
            "disk-full",
        ),
        ("Sabah disk dolmuş, siparişler alınamıyor.", "disk-full"),
        ("Repliken ligger efter sedan i natt.", "replication-apply"),
    ] {
        assert_eq!(first_of(text).as_deref(), Some(cause), "{text}");
    }
}
