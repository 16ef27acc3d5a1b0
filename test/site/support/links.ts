import { existsSync, statSync } from 'node:fs';
import { readdir, readFile } from 'node:fs/promises';
import { join } from 'node:path';

const ORIGIN = 'http://site.invalid';

/** Each link and image of the built pages that leads to no file, or to no element of a page: `page → link`. */
export async function brokenLinksOf(folder: string): Promise<string[]> {
  const names = (await readdir(folder, { recursive: true })).filter((name) => name.endsWith('.html'));
  const pages = new Map(
    await Promise.all(
      names.map(
        async (name) => [name.replaceAll('\\', '/'), await readFile(join(folder, name), 'utf8')] as const,
      ),
    ),
  );
  const ids = new Map([...pages].map(([name, html]) => [name, idsOf(html)]));
  return [...pages].flatMap(([name, html]) =>
    linksOf(html)
      .filter((link) => {
        const url = new URL(link, `${ORIGIN}/${name}`);
        if (url.origin !== ORIGIN) return false;
        const file = fileOf(folder, decodeURIComponent(url.pathname));
        if (file === undefined) return true;
        const anchor = decodeURIComponent(url.hash.slice(1));
        return anchor !== '' && !ids.get(file)?.has(anchor);
      })
      .map((link) => `${name} → ${link}`),
  );
}

function idsOf(html: string): Set<string> {
  return new Set([...html.matchAll(/\sid="([^"]*)"/g)].map(([, id]) => decoded(id!)));
}

function linksOf(html: string): string[] {
  const links = [...html.matchAll(/<(?:a|link|img|script)\s[^>]*?(?:href|src)="([^"]*)"/g)];
  return [...new Set(links.map(([, link]) => decoded(link!)))];
}

function decoded(text: string): string {
  return text.replaceAll('&quot;', '"').replaceAll('&#39;', "'").replaceAll('&amp;', '&');
}

/** The file that a static server sends for this path. */
export function fileOf(folder: string, path: string): string | undefined {
  const name = path.endsWith('/') ? `${path}index.html` : path;
  const file = join(folder, name);
  return existsSync(file) && statSync(file).isFile() ? name.replace(/^\//, '') : undefined;
}
