// The time of the processors that PostgreSQL took, all its processes together, from /proc: on Linux, beside
// the server.
import { readdirSync, readFileSync } from 'node:fs';
import { admin } from './database.mjs';

const TICKS_PER_SECOND = 100;

/**
 * The fields of /proc/<pid>/stat after the name, which may contain spaces. Undefined once the process is
 * gone.
 */
function statOf(pid) {
  try {
    const text = readFileSync(`/proc/${pid}/stat`, 'latin1');
    const [, parent, ...rest] = text.slice(text.lastIndexOf(')') + 2).split(' ');
    const [user, system, childrenUser, childrenSystem] = rest.slice(9, 13).map(Number);
    return {
      name: text.slice(text.indexOf('(') + 1, text.lastIndexOf(')')),
      parent: Number(parent),
      own: user + system,
      ended: childrenUser + childrenSystem,
    };
  } catch {
    return undefined;
  }
}

/** Seconds of the processors that one process used so far; undefined where it cannot be seen. */
export function cpuOfProcess(pid) {
  const stat = process.platform === 'linux' ? statOf(pid) : undefined;
  return stat && stat.own / TICKS_PER_SECOND;
}

/** The postmaster's process; undefined where it is not to be seen. */
async function findPostmaster(url) {
  if (process.platform !== 'linux') return undefined;
  const [{ pid }] = await admin(
    `SELECT (regexp_match(pg_read_file('postmaster.pid'), '^\\d+'))[1]::int AS pid`,
    undefined,
    url,
  ).catch(() => [{}]);
  return pid && statOf(pid)?.name.startsWith('postgres') ? pid : undefined;
}

const postmasters = new Map();

/**
 * Seconds so far, those of processes that have ended included; undefined where they cannot be seen.
 * @param url of another server than that of PGURL
 */
export async function serverCpu(url) {
  if (!postmasters.has(url)) postmasters.set(url, findPostmaster(url));
  const pid = await postmasters.get(url);
  if (pid === undefined) return undefined;
  let { own, ended } = statOf(pid) ?? { own: 0, ended: 0 };
  for (const entry of readdirSync('/proc')) {
    const stat = /^\d+$/.test(entry) ? statOf(entry) : undefined;
    if (stat?.parent === pid) own += stat.own;
  }
  return (own + ended) / TICKS_PER_SECOND;
}
