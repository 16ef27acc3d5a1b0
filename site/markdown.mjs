/**
 * How the site renders the repository's Markdown. Links in it are made for GitHub: relative, to files of the repository.
 */
import { existsSync, readdirSync, readFileSync, statSync } from 'node:fs';
import { basename, dirname, join, relative } from 'node:path';

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

/**
 * Shows alternatives in tabs. On GitHub, each is a block of code below its title in bold; the comments around them are not
 * seen there:
 *
 *     <!-- tabs -->
 *     **Knex**
 *     ```ts
 *     **pg**
 *     ```ts
 *     <!-- end -->
 */
export function showTabs(md) {
  md.core.ruler.before('normalize', 'tabs', (state) => {
    state.src = withCodeGroups(state.src);
  });
}

/** The source with code groups of VitePress for the parts between these comments. */
export function withCodeGroups(source) {
  return source.replace(/^<!-- tabs -->\n([^]*?)^<!-- end -->$/gm, (_, tabs) => {
    const blocks = tabs.replace(
      /^\*\*(.+)\*\*\n\n```(\w+)$/gm,
      (__, title, language) => `\`\`\`${language} [${title}]`,
    );
    return `::: code-group\n${blocks}:::`;
  });
}

/** Diagrams are drawn in the browser: in the colours of the page. */
export function drawDiagrams(md) {
  const fence = md.renderer.rules.fence;
  md.renderer.rules.fence = (tokens, index, ...rest) =>
    tokens[index].info.trim() === 'mermaid'
      ? `<SagaDiagram code="${encodeURIComponent(tokens[index].content)}" />`
      : fence(tokens, index, ...rest);
}

/**
 * Shows above a block of TypeScript the name of its file: that of the module in `code/` beside the page which has these
 * lines (the pages of recipes and migrations), otherwise the name that Nest's convention gives to the file of its class.
 */
export function nameFiles(md) {
  const fence = md.renderer.rules.fence;
  md.renderer.rules.fence = (tokens, index, options, env, self) => {
    const html = fence(tokens, index, options, env, self);
    const { info, content } = tokens[index];
    if (info.trim() !== 'ts' || env.realPath === undefined) return html;
    const name = moduleWith(content, env.realPath) ?? conventionalName(content);
    return name === undefined
      ? html
      : html.replace('<span class="lang">ts</span>', `<span class="code-file">${name}</span>`);
  };
}

function moduleWith(block, page) {
  const folder = join(dirname(page), 'code');
  if (!existsSync(folder)) return undefined;
  const [first, ...rest] = block.trimEnd().split('\n');
  const prefix = `${basename(page, '.md')}.`;
  return readdirSync(folder).find((name) => {
    if (!name.startsWith(prefix)) return false;
    const lines = readFileSync(join(folder, name), 'utf8').split('\n');
    return lines.some((line, start) => {
      if (!line.endsWith(first)) return false;
      const indent = line.slice(0, line.length - first.length);
      if (indent.trim() !== '') return false;
      return rest.every((text, n) => lines[start + 1 + n] === (text === '' ? '' : indent + text));
    });
  });
}

const KINDS = 'Saga|Module|Controller|Service|Guard|Gateway|Interceptor|Listener';

/** `place-order.saga.ts` for PlaceOrderSaga. The last class decides: those above it are its parts. */
function conventionalName(block) {
  if (/^(test|it|describe)\(/m.test(block)) {
    const [, tested] = /\b(\w+)Saga\b/.exec(block) ?? [];
    return tested && `${kebab(tested)}.saga.spec.ts`;
  }
  const classes = [...block.matchAll(new RegExp(`^export class (\\w+?)(${KINDS})(?:V\\d+)?\\b`, 'gm'))];
  const [, name, kind] = classes.at(-1) ?? [];
  return name && `${kebab(name)}.${kind.toLowerCase()}.ts`;
}

function kebab(name) {
  return name.replace(/(?<=[a-z0-9])(?=[A-Z])/g, '-').toLowerCase();
}

/** The empty cell at the top left of a table is not a header. */
export function emptyHeaders(md) {
  md.core.ruler.push('empty-headers', ({ tokens }) => {
    for (const [index, { type, content }] of tokens.entries())
      if (type === 'inline' && content === '' && tokens[index - 1].type === 'th_open')
        for (const cell of [tokens[index - 1], tokens[index + 1]]) cell.tag = 'td';
  });
}

/** Braces in code are text, and no expressions of Vue. */
export function literalCode(md) {
  const render = md.renderer.rules.code_inline;
  md.renderer.rules.code_inline = (tokens, index, ...rest) => {
    tokens[index].attrSet('v-pre', '');
    return render(tokens, index, ...rest);
  };
}
