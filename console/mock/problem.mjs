// A refusal of the mock, sent as application/problem+json. `extra` goes into the document as it is.
export class Problem extends Error {
  constructor(status, title, detail, field, extra = {}) {
    super(detail);
    Object.assign(this, { status, title, field, extra });
  }
}

export const now = () => new Date().toISOString();
