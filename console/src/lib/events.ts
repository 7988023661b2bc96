// Reads a server-sent event stream by fetch instead of EventSource: so keep-alive comments count as signs of life, a
// stream that died without a close is noticed, and a refused session is told apart from a lost network.

export interface StreamEvent {
  id: string;
  event: string;
  data: string;
}

/** Cuts text into events as it arrives; pieces may end anywhere. */
export class EventParser {
  #rest = '';
  #id = '';

  feed(text: string): StreamEvent[] {
    this.#rest = (this.#rest + text).replaceAll('\r\n', '\n');
    const blocks = this.#rest.split('\n\n');
    this.#rest = blocks.pop() ?? '';
    return blocks.map((block) => this.#read(block)).filter((event) => event !== null);
  }

  #read(block: string): StreamEvent | null {
    let event = 'message';
    const data: string[] = [];
    for (const line of block.split('\n')) {
      const colon = line.indexOf(':');
      if (colon === 0) continue;
      const field = colon < 0 ? line : line.slice(0, colon);
      const value = colon < 0 ? '' : line.slice(colon + 1).replace(/^ /, '');
      if (field === 'event') event = value;
      else if (field === 'data') data.push(value);
      else if (field === 'id') this.#id = value;
    }
    return data.length === 0 && event === 'message' ? null : { id: this.#id, event, data: data.join('\n') };
  }
}

/**
 * Hands every event of the body to `take`. Ends when the stream ends; throws when it breaks or when nothing, not even
 * a keep-alive comment, came for `quietMs`.
 */
export async function readEvents(
  body: ReadableStream<Uint8Array>,
  quietMs: number,
  take: (event: StreamEvent) => void,
): Promise<void> {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  const parser = new EventParser();
  try {
    for (;;) {
      const { done, value } = await withinTime(reader.read(), quietMs);
      if (done) return;
      parser.feed(decoder.decode(value, { stream: true })).forEach(take);
    }
  } finally {
    reader.cancel().catch(() => {});
  }
}

/** What the promise gives, unless it takes too long. */
export function withinTime<T>(promise: Promise<T>, ms: number): Promise<T> {
  return new Promise((resolve, reject) => {
    const timer = setTimeout(() => reject(new Error('the stream went quiet')), ms);
    promise.then(resolve, reject).finally(() => clearTimeout(timer));
  });
}
