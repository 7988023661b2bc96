// Makes text that agents sent fit to be shown. Svelte already escapes markup; this is about characters that would
// change how other text reads (direction overrides) or that cannot be seen at all.

// Controls except tab and newline, direction marks and overrides, zero-width and invisible characters.
const UNSEEN = /[\u0000-\u0008\u000b-\u001f\u007f-\u009f\u061c\u200b-\u200f\u202a-\u202e\u2060-\u2069\ufeff]/g;

/** The text with unseen characters written as \uXXXX. */
export function visible(text: string): string {
  return text.replace(UNSEEN, (char) => `\\u${char.charCodeAt(0).toString(16).padStart(4, '0')}`);
}

/** As visible, in one line and no longer than `most` characters. */
export function oneLine(text: string, most = 200): string {
  const flat = visible(text).replace(/\s+/g, ' ').trim();
  return flat.length > most ? `${flat.slice(0, most - 1)}…` : flat;
}

/** The text in parts: those at odd places are what was looked for, letter by letter as it stands. */
export function marked(text: string, wanted: string): string[] {
  return wanted === '' ? [text] : text.split(wanted).flatMap((part, at) => (at === 0 ? [part] : [wanted, part]));
}

/** "1 agent", "2 agents", with thousands apart. */
export function count(amount: number, one: string, many = `${one}s`): string {
  return `${number(amount)} ${amount === 1 ? one : many}`;
}

/** A number with thousands apart, the same in every locale (1 234 567). */
export function number(amount: number): string {
  return String(amount).replace(/\B(?=(\d{3})+$)/g, '\u202f');
}

/** The agents that match something, in words that agree with their number. */
export function matching(amount: number): string {
  return `${count(amount, 'agent')} that ${amount === 1 ? 'matches' : 'match'}`;
}

/** Bytes for people, as the command line writes them: "1.5 GiB". */
export function bytes(amount: number): string {
  const found = ([['GiB', 2 ** 30], ['MiB', 2 ** 20], ['KiB', 2 ** 10]] as const).find(([, size]) => amount >= size);
  if (!found) return `${amount} B`;
  return `${(Math.floor((amount * 10) / found[1]) / 10).toFixed(1)} ${found[0]}`;
}

/** The class with which a line of a file hangs: by its own indentation, up to 24 letters. */
export function hangClass(line: string): string {
  const indent = /^[ \t]*/.exec(line)?.[0].replaceAll('\t', '    ').length ?? 0;
  return `hang hang-${Math.min(24, indent - (indent % 2))}`;
}
