/**
 * What of the repository's texts goes into a package: its README (of the core that of the repository, of another package its page
 * in docs/packages), the license, and with the core the changelog and llms.txt. Links lead to the repository, if the core's
 * package.json names one; otherwise their text stays, without the link.
 */
import { existsSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { llmsIndex } from '../site/llms.mjs';

/** An inline link or picture: what is before its target, the target, the anchor. */
const LINK = /(!?\[(?:[^[\]]|\[[^\]]*\])*\])\((?![a-z]+:|#)([^)#\s]+)(#[^)]*)?\)/g;

/** Each file, by its path in the package: its text. */
export function packagedPages(root, name) {
  const read = (file) => readFileSync(join(root, file), 'utf8');
  const { description, homepage, repository } = JSON.parse(read('libs/saga/package.json'));
  const home = urlOf(repository);
  const page = (file) =>
    read(file)
      .split(/^(```[\s\S]*?^```)/m)
      .map((part) => (part.startsWith('```') ? part : linked(part, file)))
      .join('');
  const files = new Map([
    ['README.md', page(name === 'saga' ? 'README.md' : `docs/packages/${name}.md`)],
    ['LICENSE', read('LICENSE')],
  ]);
  if (name === 'saga') {
    files.set('CHANGELOG.md', page('CHANGELOG.md'));
    const address = homepage ?? (home === undefined ? '' : `${home}/blob/main/`);
    files.set('llms.txt', llmsIndex(root, { title: 'nestjs-durable-saga', description, address }));
  }
  return files;

  function linked(text, from) {
    return text.replace(LINK, (_, label, target, anchor = '') => {
      const file = join(dirname(from), decodeURI(target)).replaceAll('\\', '/').replace(/\/$/, '');
      if (!existsSync(join(root, file))) throw new Error(`${from} links to ${target}, which does not exist.`);
      if (home === undefined) return label.startsWith('!') ? '' : label.slice(1, -1);
      if (label.startsWith('!')) return `${label}(${home}/raw/main/${file})`;
      const kind = statSync(join(root, file)).isDirectory() ? 'tree' : 'blob';
      return `${label}(${home}/${kind}/main/${file}${anchor})`;
    });
  }
}

/** The address of the repository that a package.json names; undefined: none. */
export function urlOf(repository) {
  const url = typeof repository === 'string' ? repository : repository?.url;
  return url?.replace(/^git\+/, '').replace(/\.git$/, '');
}
