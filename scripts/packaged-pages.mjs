/**
 * What of the repository's texts goes into the package, and with which links. A link to a page or a picture that is in the
 * package stays. Any other (to the demos, the specs, the benchmarks) leads to the repository, if the package names one;
 * otherwise its text stays, without the link.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { dirname, join } from 'node:path';

/** For those who work on the library, not with it. */
const CONTRIBUTORS = /^docs\/(reference|decisions)\/|^docs\/architecture\.md$/;
/** An inline link or picture: what is before its target, the target, the anchor. */
const LINK = /(!?\[(?:[^[\]]|\[[^\]]*\])*\])\((?![a-z]+:|#)([^)#\s]+)(#[^)]*)?\)/g;

const TABLE_ROW = /^\|.*\|$/gm;
/** What aligns the cells of a table: spaces beside the lines between them, and dashes below the head. A fifth of the pages. */
const PADDING = / {2,}(?=\|)|(?<=\|) {2,}/g;
const DASHES = /(?<=\| :?)-{4,}(?=:? \|)/g;

const unpadded = (text) =>
  text.replace(TABLE_ROW, (row) => row.replaceAll(PADDING, ' ').replaceAll(DASHES, '---'));

/** Each file of the package, by its path in it, which is that of the repository: the text, or undefined to copy it. */
export function packagedPages(root) {
  const docs = readdirSync(join(root, 'docs'), { recursive: true, encoding: 'utf8' })
    .map((name) => `docs/${name.replaceAll('\\', '/')}`)
    .filter((name) => name.endsWith('.md') && !CONTRIBUTORS.test(name))
    .sort();
  const pages = ['README.md', 'CHANGELOG.md', ...docs];
  const files = new Map(pages.map((name) => [name, readFileSync(join(root, name), 'utf8')]));
  files.set('LICENSE', undefined);
  for (const page of pages)
    for (const picture of picturesOf(page, files.get(page))) files.set(picture, undefined);
  files.set('docs/grafana-dashboard.json', undefined);
  const repository = repositoryOf(root);
  for (const page of pages)
    files.set(
      page,
      files
        .get(page)
        .split(/^(```[\s\S]*?^```)/m)
        .map((part) => (part.startsWith('```') ? part : unpadded(linked(part, page))))
        .join(''),
    );
  return files;

  function linked(text, page) {
    return text.replace(LINK, (link, label, target, anchor = '') => {
      const file = targetOf(page, target);
      if (files.has(file)) return link;
      if (!existsSync(join(root, file))) throw new Error(`${page} links to ${target}, which does not exist.`);
      if (repository === undefined) return label.slice(1, -1);
      const kind = statSync(join(root, file)).isDirectory() ? 'tree' : 'blob';
      return `${label}(${repository}/${kind}/main/${file}${anchor})`;
    });
  }
}

function picturesOf(page, text) {
  return [...text.matchAll(LINK)]
    .filter(([, label]) => label.startsWith('!'))
    .map(([, , target]) => targetOf(page, target));
}

function targetOf(page, target) {
  return join(dirname(page), decodeURI(target)).replaceAll('\\', '/').replace(/\/$/, '');
}

function repositoryOf(root) {
  const { repository } = JSON.parse(readFileSync(join(root, 'libs/saga/package.json'), 'utf8'));
  const url = typeof repository === 'string' ? repository : repository?.url;
  return url?.replace(/^git\+/, '').replace(/\.git$/, '');
}
