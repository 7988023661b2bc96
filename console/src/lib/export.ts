// Exports of the list of agents: exactly the rows and columns on the screen, times in UTC.
import type { Column } from './agent-columns';
import type { AgentSummary } from './api';

/** A cell as RFC 4180 has it. What a spreadsheet would run as a formula is made plain text: agents choose these values. */
function cell(text: string): string {
  const safe = /^[=+\-@\t\r]/.test(text) ? `'${text}` : text;
  return /[",\r\n]/.test(safe) ? `"${safe.replaceAll('"', '""')}"` : safe;
}

export function csv(agents: AgentSummary[], columns: Column[]): string {
  const rows = [columns.map((column) => column.id), ...agents.map((agent) => columns.map((column) => column.text(agent)))];
  return rows.map((row) => row.map(cell).join(',') + '\r\n').join('');
}

export function json(agents: AgentSummary[], columns: Column[]): string {
  return `${JSON.stringify(agents.map((agent) => Object.fromEntries(columns.map((column) => [column.id, column.id === 'labels' ? (agent.labels ?? {}) : column.text(agent)]))), null, 2)}\n`;
}

/** Gives a text to the browser as a file to keep. */
export function download(name: string, type: string, text: string): void {
  const url = URL.createObjectURL(new Blob([text], { type }));
  const link = document.createElement('a');
  link.href = url;
  link.download = name;
  link.click();
  setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
