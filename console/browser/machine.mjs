// The machine of a case with a real host: whoever started the test does on it what the case asks for. A request is one
// line of JSON on standard output, {"event": "ask", "what", "with"}; its answer a line on standard input, {"answer"}.
import { createInterface } from 'node:readline';

/** `LAB_MACHINE` has what is known of it: name, address, engine. */
export function startMachine(env = process.env) {
  const lines = createInterface(process.stdin);
  const answers = lines[Symbol.asyncIterator]();
  async function machine(what, value = null) {
    console.log(JSON.stringify({ event: 'ask', what, with: value }));
    const { value: line, done } = await answers.next();
    if (done) throw new Error(`nobody answered “${what}”`);
    return JSON.parse(line).answer;
  }
  const { name, ...known } = JSON.parse(env.LAB_MACHINE ?? '{}');
  // A function has a name of its own, which can only be defined over.
  Object.defineProperty(machine, 'name', { value: name });
  return { machine: Object.assign(machine, known), close: () => lines.close() };
}
