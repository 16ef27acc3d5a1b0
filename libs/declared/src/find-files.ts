import { readdir } from 'node:fs/promises';
import { join, sep } from 'node:path';

/** Whether a path has `*` or `?`, and so can match several files. */
export function isPattern(path: string): boolean {
  return /[*?]/.test(path);
}

/**
 * Returns the files that a pattern matches, in order: `*` and `?` are parts of a name, `**` is any number of folders.
 * Hidden files and node_modules do not match.
 */
export async function findFiles(pattern: string): Promise<string[]> {
  const parts = pattern.split(/[\\/]/);
  const fixed = parts.findIndex(isPattern);
  const start = parts.slice(0, fixed).join(sep);
  const base = start === '' ? (pattern.startsWith('/') ? sep : '.') : start;
  return (await matching(base, parts.slice(fixed))).sort();
}

async function matching(folder: string, [part = '', ...rest]: readonly string[]): Promise<string[]> {
  const entries = await readdir(folder, { withFileTypes: true }).catch(() => []);
  const visible = entries.filter(({ name }) => !name.startsWith('.') && name !== 'node_modules');
  const found: string[] = [];
  if (part === '**') found.push(...(await matching(folder, rest)));
  for (const entry of visible) {
    const path = join(folder, entry.name);
    if (part === '**') {
      if (entry.isDirectory()) found.push(...(await matching(path, [part, ...rest])));
    } else if (patternOf(part).test(entry.name)) {
      if (rest.length > 0 && entry.isDirectory()) found.push(...(await matching(path, rest)));
      if (rest.length === 0 && !entry.isDirectory()) found.push(path);
    }
  }
  return [...new Set(found)];
}

function patternOf(part: string): RegExp {
  const escaped = part
    .replace(/[.+^${}()|[\]\\]/g, '\\$&')
    .replaceAll('*', '.*')
    .replaceAll('?', '.');
  return new RegExp(`^${escaped}$`);
}
