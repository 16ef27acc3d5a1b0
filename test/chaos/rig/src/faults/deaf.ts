import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from '../stage.js';
import { isAnnouncement } from '../tcp-proxy.js';

export const deaf: Fault = {
  name: 'notify-lost',
  what: 'For four to eight seconds no NOTIFY arrives; every other time nothing at all arrives on the connections that listen.',
  async inject({ proxy, chance }) {
    proxy.deafen(chance.next() < 0.5 ? isAnnouncement : () => true);
    await sleep(chance.between(4_000, 8_000));
    proxy.deafen(undefined);
  },
};
