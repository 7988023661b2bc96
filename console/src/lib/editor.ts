// The text editor: CodeMirror with YAML and JSON, the console's colours, and problems shown at their lines. It is put
// into a shadow root, because there its styles are constructed sheets: the policy forbids the style elements that it
// would add to the document. Loaded on demand, with the pages that write.
import { defaultKeymap, history, historyKeymap, indentWithTab } from '@codemirror/commands';
import { json } from '@codemirror/lang-json';
import { yaml } from '@codemirror/lang-yaml';
import { bracketMatching, HighlightStyle, indentOnInput, indentUnit, syntaxHighlighting } from '@codemirror/language';
import { highlightSelectionMatches, search, searchKeymap } from '@codemirror/search';
import { EditorState, StateEffect, StateField, type Extension, type Text } from '@codemirror/state';
import { Decoration, drawSelection, EditorView, highlightActiveLine, highlightSpecialChars, keymap, lineNumbers, WidgetType, type DecorationSet } from '@codemirror/view';
import { tags } from '@lezer/highlight';
import type { Problem } from './configs';
import { visible } from './text';

const setProblems = StateEffect.define<Problem[]>();

class Message extends WidgetType {
  constructor(readonly problem: Problem) {
    super();
  }

  override eq(other: Message): boolean {
    return other.problem.message === this.problem.message && other.problem.severity === this.problem.severity;
  }

  override toDOM(): HTMLElement {
    const element = document.createElement('span');
    element.className = `problem ${this.problem.severity}`;
    element.textContent = visible(this.problem.message);
    return element;
  }
}

/** Where a problem is in the text; a place that is not there is the nearest that is. */
export function placeOf(text: Text, { line, column }: Pick<Problem, 'line' | 'column'>): { from: number; to: number; start: number } {
  const found = text.line(Math.min(Math.max(1, line), text.lines));
  const from = Math.min(found.from + Math.max(0, column - 1), found.to);
  return { from, to: found.to, start: found.from };
}

function decorations(state: EditorState, problems: Problem[]): DecorationSet {
  const marks = problems.flatMap((problem) => {
    const { from, to, start } = placeOf(state.doc, problem);
    const end = Decoration.widget({ widget: new Message(problem), side: 1 }).range(to);
    const row = Decoration.line({ class: `row-${problem.severity}` }).range(start);
    return from < to ? [row, Decoration.mark({ class: `wave-${problem.severity}` }).range(from, to), end] : [row, end];
  });
  return Decoration.set(marks, true);
}

const problemField = StateField.define<DecorationSet>({
  create: () => Decoration.none,
  update(shown, transaction) {
    const told = transaction.effects.find((effect) => effect.is(setProblems));
    return told ? decorations(transaction.state, told.value) : shown.map(transaction.changes);
  },
  provide: (field) => EditorView.decorations.from(field),
});

const colours = HighlightStyle.define([
  { tag: [tags.propertyName, tags.definition(tags.propertyName)], color: 'var(--accent)' },
  { tag: [tags.string, tags.special(tags.string)], color: 'var(--ok)' },
  { tag: [tags.number, tags.bool, tags.null, tags.keyword, tags.typeName, tags.labelName], color: 'var(--warn)' },
  { tag: [tags.comment, tags.meta, tags.punctuation, tags.separator], color: 'var(--text-muted)' },
]);

const look = EditorView.theme({
  '&': { fontSize: '12px', color: 'var(--text)', backgroundColor: 'var(--bg)', border: '1px solid var(--line-control)', borderRadius: 'var(--radius)' },
  '&.cm-focused': { outline: '2px solid var(--accent)', outlineOffset: '-1px' },
  '.cm-scroller': { fontFamily: 'var(--font-code)', lineHeight: '18px', minHeight: '280px', maxHeight: '66vh', overflow: 'auto' },
  '.cm-content': { caretColor: 'var(--text)' },
  '.cm-cursor': { borderLeftColor: 'var(--text)' },
  '.cm-gutters': { color: 'var(--text-muted)', backgroundColor: 'var(--bg-sunk)', borderRight: '1px solid var(--line)' },
  '.cm-activeLine': { backgroundColor: 'color-mix(in srgb, var(--accent) 7%, transparent)' },
  '&.cm-focused > .cm-scroller > .cm-selectionLayer .cm-selectionBackground, .cm-selectionBackground': { backgroundColor: 'color-mix(in srgb, var(--accent) 28%, transparent)' },
  '.cm-selectionMatch, .cm-searchMatch': { backgroundColor: 'color-mix(in srgb, var(--warn) 26%, transparent)' },
  '.cm-searchMatch-selected': { outline: '1px solid var(--warn)' },
  '&.cm-focused .cm-matchingBracket, .cm-matchingBracket': { backgroundColor: 'color-mix(in srgb, var(--accent) 20%, transparent)' },
  '.cm-panels': { color: 'var(--text)', backgroundColor: 'var(--bg-sunk)' },
  '.cm-panels.cm-panels-bottom': { borderTop: '1px solid var(--line)' },
  '.cm-textfield, .cm-button': { color: 'var(--text)', backgroundColor: 'var(--bg)', backgroundImage: 'none', border: '1px solid var(--line-control)', borderRadius: 'var(--radius)' },
  '.cm-panel.cm-search [name=close]': { color: 'var(--text)' },
  '.cm-specialChar': { color: 'var(--bad)' },
  '.problem': { marginLeft: '24px', fontFamily: 'var(--font)', whiteSpace: 'normal' },
  '.problem.error': { color: 'var(--bad)' },
  '.problem.warning': { color: 'var(--warn)' },
  '.row-error': { backgroundColor: 'var(--bad-bg)' },
  '.row-warning': { backgroundColor: 'var(--warn-bg)' },
  '.wave-error': { textDecoration: 'underline wavy var(--bad)' },
  '.wave-warning': { textDecoration: 'underline wavy var(--warn)' },
});

/** `name` may be preceded by a line that tells files of the same name apart. */
function language(key: string): Extension {
  const name = key.slice(key.indexOf('\n') + 1);
  if (name === '' || /\.ya?ml$/.test(name)) return yaml();
  return name.endsWith('.json') ? json() : [];
}

/**
 * Typing over a selection is done here and not by the browser: Chromium would give the new text the looks of the old one
 * by a style attribute, which the policy refuses and reports.
 */
const typeOver = EditorView.domEventHandlers({
  beforeinput(event, view) {
    if (event.inputType !== 'insertText' || !event.data || view.composing || view.state.selection.main.empty) return false;
    event.preventDefault();
    view.dispatch(view.state.replaceSelection(event.data), { userEvent: 'input.type', scrollIntoView: true });
    return true;
  },
});

export interface EditorOptions {
  /** The element that the editor fills. */
  host: HTMLElement;
  label: string;
  onchange: (text: string) => void;
}

export class Editor {
  readonly #view: EditorView;
  readonly #options: EditorOptions;

  constructor(options: EditorOptions, name: string, text: string) {
    this.#options = options;
    const root = options.host.shadowRoot ?? options.host.attachShadow({ mode: 'open' });
    this.#view = new EditorView({ root, parent: root, state: this.#fresh(name, text) });
  }

  /** Another file: its text, without the undo steps of the one before. */
  open(name: string, text: string): void {
    this.#view.setState(this.#fresh(name, text));
  }

  get text(): string {
    return this.#view.state.doc.toString();
  }

  show(problems: Problem[]): void {
    this.#view.dispatch({ effects: setProblems.of(problems) });
  }

  goTo(problem: Problem): void {
    const { from } = placeOf(this.#view.state.doc, problem);
    this.#view.dispatch({ selection: { anchor: from }, effects: EditorView.scrollIntoView(from, { y: 'center' }) });
    this.#view.focus();
  }

  end(): void {
    this.#view.destroy();
  }

  #fresh(name: string, text: string): EditorState {
    return EditorState.create({
      doc: text,
      extensions: [
        lineNumbers(), highlightSpecialChars(), history(), drawSelection(), indentOnInput(), bracketMatching(), highlightActiveLine(), highlightSelectionMatches(),
        search(), indentUnit.of('  '), EditorState.tabSize.of(4), keymap.of([...defaultKeymap, ...searchKeymap, ...historyKeymap, indentWithTab]), language(name),
        syntaxHighlighting(colours), look, problemField, typeOver, EditorView.lineWrapping,
        EditorView.contentAttributes.of({ 'aria-label': this.#options.label, 'aria-multiline': 'true' }),
        EditorView.updateListener.of((update) => {
          if (update.docChanged) this.#options.onchange(update.state.doc.toString());
        }),
      ],
    });
  }
}
