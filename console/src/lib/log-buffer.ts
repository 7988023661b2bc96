// Lines of replicas in the order of time: the newest so many are kept, and one that comes twice through a stream that was
// opened again is kept once.
export interface LogLine {
  /** RFC 3339 with microseconds. */
  at: string;
  /** The replica as `web-1`. */
  replica: string;
  host: string;
  stream: string;
  text: string;
}

export interface KeptLine extends LogLine {
  id: number;
  key: string;
}

export class LogBuffer {
  lines: KeptLine[] = [];
  /** How many were let go because newer ones came. */
  cut = 0;
  readonly #most: number;
  readonly #keys = new Set<string>();
  #next = 0;

  constructor(most: number) {
    this.#most = most;
  }

  /** Takes lines as they came in one piece, and says how many of them are new. */
  add(lines: LogLine[]): number {
    const fresh = this.#numbered(lines).filter(({ key }) => !this.#keys.has(key) && this.#keys.add(key));
    if (fresh.length === 0) return 0;
    const last = this.lines.at(-1)?.at ?? '';
    const joined = [...this.lines, ...fresh];
    // Lines of several hosts come as they come; most are newer than all that is there.
    if (fresh.length > 1 || (fresh[0]?.at ?? '') < last) joined.sort((one, other) => (one.at < other.at ? -1 : one.at > other.at ? 1 : one.id - other.id));
    for (const old of joined.splice(0, Math.max(0, joined.length - this.#most))) {
      this.#keys.delete(old.key);
      this.cut += 1;
    }
    this.lines = joined;
    return fresh.length;
  }

  clear(): void {
    this.lines = [];
    this.cut = 0;
    this.#keys.clear();
  }

  /** The same text of a replica at the same moment is another line when it comes twice in a row. */
  #numbered(lines: LogLine[]): KeptLine[] {
    const seen = new Map<string, number>();
    return lines.map((line) => {
      const plain = `${line.at} ${line.host} ${line.replica} ${line.stream} ${line.text}`;
      const number = seen.get(plain) ?? 0;
      seen.set(plain, number + 1);
      this.#next += 1;
      return { ...line, id: this.#next, key: `${plain} ${number}` };
    });
  }
}
