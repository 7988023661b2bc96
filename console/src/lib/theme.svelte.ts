// Light, dark, or as the system has it. public/theme.js sets the same attribute before the first paint.

export type Theme = 'system' | 'light' | 'dark';
const ORDER: Theme[] = ['system', 'light', 'dark'];
const KEY = 'muster.theme';

class ThemeChoice {
  choice = $state<Theme>(stored());

  next(): void {
    this.choice = ORDER[(ORDER.indexOf(this.choice) + 1) % ORDER.length] ?? 'system';
    if (this.choice === 'system') delete document.documentElement.dataset.theme;
    else document.documentElement.dataset.theme = this.choice;
    try {
      localStorage.setItem(KEY, this.choice);
    } catch {
      // Storage may be forbidden: then the choice holds for this tab.
    }
  }
}

function stored(): Theme {
  const theme = document.documentElement.dataset.theme;
  return theme === 'light' || theme === 'dark' ? theme : 'system';
}

export const theme = new ThemeChoice();
