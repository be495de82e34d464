//! `data/words.txt` as the program has it, made by `build.rs`: each column by itself, numbers as bytes. It packs a quarter
//! better than lines do, and is read faster.
//!
//! Columns, each behind its length in four bytes: the lines that begin with `=`; the features in their order, as how many
//! letters each has in common with the one before, the rest, and an end of line; low and high bytes of how much they
//! count; how many causes each speaks of; by how much the number of each of these is above the one before; low and high
//! bytes of the weights.

type Columns = [Vec<u8>; 8];

/// The columns of this text; or the line that is none.
pub fn columns(text: &str) -> Result<Vec<u8>, &str> {
    let mut columns = Columns::default();
    let mut before = "";
    for line in text.lines().filter(|line| !line.starts_with('#')) {
        add(&mut columns, before, line).ok_or(line)?;
        if !line.starts_with('=') {
            before = name(line);
        }
    }
    let mut all = Vec::new();
    for column in columns {
        all.extend((column.len() as u32).to_le_bytes());
        all.extend(column);
    }
    Ok(all)
}

fn name(line: &str) -> &str {
    line.split('\t').next().unwrap_or_default()
}

fn add(columns: &mut Columns, before: &str, line: &str) -> Option<()> {
    let [
        heads,
        names,
        lows,
        highs,
        counts,
        causes,
        weight_lows,
        weight_highs,
    ] = columns;
    if line.starts_with('=') {
        heads.extend(line.as_bytes());
        heads.push(b'\n');
        return Some(());
    }
    let mut fields = line.split('\t').skip(1);
    let (own, other) = (name(line).chars(), before.chars());
    let common = own.zip(other).take_while(|(own, other)| own == other);
    let common: usize = common.map(|(own, _)| own.len_utf8()).sum();
    names.push(u8::try_from(common).ok()?);
    names.extend(name(line).as_bytes().iter().skip(common));
    names.push(b'\n');
    let [low, high] = fields.next()?.parse::<u16>().ok()?.to_le_bytes();
    lows.push(low);
    highs.push(high);
    let (mut count, mut last) = (0_u8, 0_u8);
    for field in fields {
        let (cause, weight) = field.split_once(':')?;
        let cause: u8 = cause.parse().ok()?;
        causes.push(cause.checked_sub(last)?);
        let [low, high] = weight.parse::<i16>().ok()?.to_le_bytes();
        weight_lows.push(low);
        weight_highs.push(high);
        (count, last) = (count.checked_add(1)?, cause);
    }
    counts.push(count);
    Some(())
}
