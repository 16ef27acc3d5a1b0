import { byId } from './dom.js';

/** The milliseconds between two requests of a visible page. */
export const EVERY = 2_000;
/** The milliseconds between two requests for statistics, which cost more and change slowly. */
export const SELDOM = 10_000;

/**
 * Loads and shows data, now and at an interval while the page is visible, until the signal aborts.
 * @param {number | (() => number)} every the milliseconds between two requests
 * @returns a function that loads the data at once
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
      tell('failed', error.status === 0 ? 'offline' : 'failed');
      show(undefined, error);
    }
    if (!document.hidden) timer = setTimeout(look, typeof every === 'function' ? every() : every);
    else tell('paused', 'paused');
  };
  document.addEventListener('visibilitychange', () => document.hidden || look(), { signal });
  signal.addEventListener('abort', () => clearTimeout(timer));
  void look();
  return look;
}

function tell(state, text) {
  const sign = byId('live');
  if (sign.dataset.state === state) return;
  sign.dataset.state = state;
  sign.textContent = text;
}
