import { setTimeout as sleep } from 'node:timers/promises';
import type { Fault } from '../stage.js';
import { LEASE } from '../stage.js';

export const cut: Fault = {
  name: 'network-cut',
  what: 'Half of the connections to PostgreSQL are reset, ten times within two seconds.',
  async inject({ proxy, chance }) {
    for (let times = 0; times < 10; times += 1) {
      proxy.cut(0.5, chance.next);
      await sleep(200);
    }
  },
};

export const halfOpen: Fault = {
  name: 'network-half-open',
  what: 'For half a lease to two leases everything between the workers and PostgreSQL is swallowed while the sockets stay open. What carried something in that time stays silent afterwards, every other time all connections do.',
  async inject({ proxy, chance }) {
    if (chance.next() < 0.5) proxy.forget();
    proxy.treat({ kind: 'drop' });
    await sleep(chance.between(0.5, 2) * LEASE);
    proxy.heal();
  },
};

export const forgotten: Fault = {
  name: 'network-forgotten',
  what: 'Half of the connections go silent for ever, as behind a firewall that has forgotten them; new ones work. The server learns of it after 20 seconds.',
  async inject({ proxy, chance }) {
    proxy.forget(0.5, chance.next);
  },
};

export const delay: Fault = {
  name: 'network-delay',
  what: 'For five to ten seconds every packet takes 50 to 500 ms each way.',
  async inject({ proxy, chance }) {
    proxy.treat({ kind: 'delay', by: () => chance.between(50, 500) });
    await sleep(chance.between(5_000, 10_000));
    proxy.heal();
  },
};

export const throttle: Fault = {
  name: 'network-throttle',
  what: 'For five to ten seconds a connection carries 4 kB a second.',
  async inject({ proxy, chance }) {
    proxy.treat({ kind: 'throttle', perSecond: 4_096 });
    await sleep(chance.between(5_000, 10_000));
    proxy.heal();
  },
};

export const lostAnswers: Fault = {
  name: 'answers-lost',
  what: "What is sent arrives, PostgreSQL's answers are swallowed, and after 200 ms the connections are reset: commits whose acknowledgement is lost; ten times.",
  async inject({ proxy, chance }) {
    for (let times = 0; times < 10; times += 1) {
      proxy.treat({ kind: 'pass' }, { kind: 'drop' });
      await sleep(200);
      proxy.cut();
      proxy.heal();
      await sleep(chance.between(50, 300));
    }
  },
};
