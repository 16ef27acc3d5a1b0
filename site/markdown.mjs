/**
 * How the site renders the repository's Markdown. Links in it are made for GitHub: relative, to files of the repository.
 */
import { existsSync, statSync } from 'node:fs';
import { dirname, join, relative } from 'node:path';

/** Anchors as GitHub makes them, so that the links of the pages lead to them here, too. */
export const slugify = (heading) =>
  heading
    .trim()
    .toLowerCase()
    .replace(/[^\p{L}\p{N}\s_-]/gu, '')
    .replaceAll(' ', '-');

/**
 * A link to a page leads to that page of the site; to another file of the repository, to that file at `source` (or
 * nowhere: without `source` it becomes text). A link to a file that does not exist fails the build.
 */
export function linkPages(md, { root, pages, siteOf, source }) {
  const known = new Set(pages);
  md.core.ruler.push('link-pages', ({ tokens, env }) => {
    if (env.realPath === undefined) return;
    for (const { children } of tokens)
      for (const [index, token] of (children ?? []).entries()) {
        const href = token.type === 'link_open' ? token.attrGet('href') : null;
        if (href === null || /^(#|\/|[a-z]+:)/.test(href)) continue;
        const [path, anchor] = decodeURI(href).split('#');
        const file = relative(root, join(dirname(env.realPath), path)).replaceAll('\\', '/');
        const page = [file, join(file, 'README.md').replaceAll('\\', '/')].find((name) => known.has(name));
        const hash = anchor === undefined ? '' : `#${anchor}`;
        if (page !== undefined) token.attrSet('href', `/${siteOf(page)}${hash}`);
        else if (!existsSync(join(root, file)))
          throw new Error(`${relative(root, env.realPath)} links to ${path}, which does not exist.`);
        else if (source !== undefined) {
          const kind = statSync(join(root, file)).isDirectory() ? 'tree' : 'blob';
          token.attrSet('href', `${source.replace('/blob/', `/${kind}/`)}/${file}${hash}`);
        } else unlink(children, index);
      }
  });
}

/** Leaves the text of a link, without the link. */
function unlink(tokens, open) {
  let depth = 0;
  for (let at = open; at < tokens.length; at++) {
    depth += tokens[at].nesting;
    if (depth > 0) continue;
    for (const index of [open, at]) {
      tokens[index].tag = 'span';
      tokens[index].attrs = null;
      tokens[index].type = index === open ? 'span_open' : 'span_close';
    }
    return;
  }
}

/** Diagrams are drawn in the browser: in the colours of the page. */
export function drawDiagrams(md) {
  const fence = md.renderer.rules.fence;
  md.renderer.rules.fence = (tokens, index, ...rest) =>
    tokens[index].info.trim() === 'mermaid'
      ? `<SagaDiagram code="${encodeURIComponent(tokens[index].content)}" />`
      : fence(tokens, index, ...rest);
}
