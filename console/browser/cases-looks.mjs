// Every screen as axe sees it, on wide and narrow windows, light and dark, with the commands unfolded; and that none is
// wider than its window.
import { signInTo } from './chromium.mjs';
import { arrange, SCREENS, WORKERS } from './screens.mjs';
import { look } from './steps.mjs';

const LOOKS = [['light', 1440], ['dark', 768], ['dark', 360], ['light', 360]];

/** Opens the command twins: they are part of the screen. */
async function unfold(page) {
  const twins = page.getByText('as a command');
  if ((await twins.count()) > 0 && (await page.getByRole('dialog').count()) === 0) await twins.first().click();
}

export const lookCases = LOOKS.map(([theme, width]) => [`axe finds nothing on any screen in ${theme} at ${width} px`, async (page, server) => {
  const found = arrange(server.mock);
  await signInTo(page, server, '/');
  for (const [name, go] of SCREENS) {
    await go(page, { ...server, ...found });
    await unfold(page);
    await look(page, name);
  }
}, { theme, width, extra: WORKERS, refusals: [400, 422] }]);
