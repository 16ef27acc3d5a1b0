/** Looks again every so often, as long as somebody does. */
const EVERY = 2_000;
/** Figures move slowly, and cost more. */
export const SELDOM = 10_000;

/**
 * Loads and shows, now and every so many milliseconds while the page is visible, until the signal aborts.
 * @returns look again now
 */
export function live(signal, load, show, every = EVERY) {
  let timer;
  let round = 0;
  const look = async () => {
    clearTimeout(timer);
    const mine = ++round;
    try {
      const loaded = await load();
      if (signal.aborted || mine !== round) return;
      tell('live', 'live');
      show(loaded, undefined);
    } catch (error) {
      if (signal.aborted || mine !== round) return;
      tell('failed', error.status === 0 ? 'out of reach' : 'failed');
      show(undefined, error);
    }
    if (!document.hidden) timer = setTimeout(look, every);
    else tell('paused', 'paused');
  };
  document.addEventListener('visibilitychange', () => document.hidden || look(), { signal });
  signal.addEventListener('abort', () => clearTimeout(timer));
  void look();
  return look;
}

function tell(state, text) {
  const sign = document.getElementById('live');
  if (sign.dataset.state === state) return;
  sign.dataset.state = state;
  sign.textContent = text;
}
