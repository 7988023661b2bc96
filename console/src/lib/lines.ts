// Reads a stream of JSON objects, one on each line, as it arrives. Empty lines are signs of life.
import { withinTime } from './events';

/** Cuts text into objects; pieces may end anywhere. What is no JSON object is dropped. */
export class LineParser {
  #rest = '';

  feed(text: string): Record<string, unknown>[] {
    const lines = (this.#rest + text).split('\n');
    this.#rest = lines.pop() ?? '';
    return lines.map(parsed).filter((found) => found !== null);
  }
}

function parsed(line: string): Record<string, unknown> | null {
  try {
    const found: unknown = JSON.parse(line);
    return typeof found === 'object' && found !== null ? (found as Record<string, unknown>) : null;
  } catch {
    return null;
  }
}

/** Hands on all objects of each piece. Ends with the stream; throws when it breaks, or was silent for `quietMs`. */
export async function readLines(body: ReadableStream<Uint8Array>, quietMs: number, take: (found: Record<string, unknown>[]) => void): Promise<void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const parser = new LineParser();
  try {
    for (;;) {
      const { done, value } = await withinTime(reader.read(), quietMs);
      if (done) return;
      const found = parser.feed(decoder.decode(value, { stream: true }));
      if (found.length > 0) take(found);
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}
