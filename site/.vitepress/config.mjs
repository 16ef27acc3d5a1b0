import { readdirSync, readFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { defineConfig } from 'vitepress';
import { urlOf } from '../../scripts/packaged-pages.mjs';
import { writeLlms } from '../llms.mjs';
import {
  drawDiagrams,
  emptyHeaders,
  linkPages,
  literalCode,
  nameFiles,
  showTabs,
  slugify,
} from '../markdown.mjs';
import { linkOf, PAGES, sidebar, siteOf } from '../navigation.mjs';
import { themeFixes } from '../theme-fixes.mjs';

const ROOT = fileURLToPath(new URL('../..', import.meta.url));
const { description, repository } = JSON.parse(readFileSync(`${ROOT}/libs/saga/package.json`, 'utf8'));
const title = 'nestjs-durable-saga';

/** Where the site is served: `/` by default; the folder of a project at GitHub Pages. */
const base = process.env.DOCS_BASE ?? '/';
/** With the host, for llms.txt: https://example.github.io/project/. */
const address = process.env.DOCS_URL || base;
/** The repository's page. Without it, links to files that are not pages are left out. */
const home = process.env.DOCS_REPOSITORY ?? urlOf(repository);

const docs = readdirSync(`${ROOT}/docs`, { recursive: true, encoding: 'utf8' })
  .map((name) => `docs/${name.replaceAll('\\', '/')}`)
  .filter((name) => name.endsWith('.md'));
const generated = docs.filter((name) => name.startsWith('docs/reference/'));
const pages = ['README.md', ...new Set([...PAGES, ...generated])];
const forgotten = docs.filter((name) => !pages.includes(name));
if (forgotten.length > 0)
  throw new Error(`No entry of site/navigation.mjs leads to ${forgotten.join(', ')}. Add one.`);
const absent = pages.filter((name) => name.startsWith('docs/') && !docs.includes(name));
if (absent.length > 0)
  throw new Error(
    `site/navigation.mjs leads to ${absent.join(', ')}, which does not exist.` +
      (absent.some((name) => name.startsWith('docs/reference/')) ? ' Run npm run docs:api first.' : ''),
  );

export default defineConfig({
  title,
  description,
  base,
  lang: 'en',
  srcDir: '..',
  srcExclude: notPages(),
  outDir: './dist',
  cacheDir: './node_modules/.cache',
  rewrites: Object.fromEntries(pages.map((file) => [file, siteOf(file)])),
  head: [['link', { rel: 'icon', type: 'image/svg+xml', href: `${base}icon.svg` }]],
  markdown: {
    theme: { light: 'github-light-high-contrast', dark: 'github-dark-high-contrast' },
    anchor: { slugify },
    toc: { slugify },
    // Text such as `Promise<string>` is text, not an element of the page.
    config(md) {
      showTabs(md);
      linkPages(md, {
        root: ROOT,
        pages,
        siteOf,
        source: home && `${home}/blob/${process.env.GITHUB_SHA ?? 'main'}`,
      });
      nameFiles(md);
      drawDiagrams(md);
      emptyHeaders(md);
      literalCode(md);
    },
  },
  themeConfig: {
    logo: '/icon.svg',
    nav: [
      { text: 'Start', link: linkOf('docs/getting-started.md') },
      { text: 'Guide', link: linkOf('docs/README.md') },
      { text: 'Options', link: linkOf('docs/options.md') },
      { text: 'API', link: linkOf('docs/reference/README.md') },
      { text: 'Changelog', link: linkOf('CHANGELOG.md') },
    ],
    sidebar: sidebar(),
    outline: { level: [2, 3] },
    search: {
      provider: 'local',
      options: {
        detailedView: true,
        // The pages explain; the reference repeats each name in every type that has it.
        miniSearch: { searchOptions: { boostDocument: (id) => (id.includes('/reference/') ? 0.2 : 1) } },
      },
    },
    socialLinks: home ? [{ icon: 'github', link: home }] : [],
    footer: { message: 'MIT license' },
  },
  transformPageData(page) {
    if (page.filePath === 'README.md')
      Object.assign(page.frontmatter, {
        layout: 'home',
        hero: {
          name: title,
          text: 'Durable sagas for NestJS, in PostgreSQL',
          tagline:
            'Write a class. Each step is stored before the next one begins; a failure is compensated in reverse.',
          actions: [
            { theme: 'brand', text: 'Get started', link: linkOf('docs/getting-started.md') },
            { theme: 'alt', text: 'All pages by task', link: linkOf('docs/README.md') },
          ],
        },
      });
    if (page.filePath.startsWith('docs/reference/')) page.frontmatter.outline = [2, 3];
  },
  vite: {
    publicDir: fileURLToPath(new URL('../public', import.meta.url)),
    plugins: [vueOfTheSite(), themeFixes()],
  },
  buildEnd: ({ outDir }) => writeLlms(ROOT, outDir, { title, description, address }),
});

/** The pages are outside of site/ and import Vue, which only site/node_modules has. */
function vueOfTheSite() {
  const importer = fileURLToPath(import.meta.url);
  return {
    name: 'vue-of-the-site',
    enforce: 'pre',
    resolveId(id, from, options) {
      if (!/^vue($|\/)/.test(id)) return null;
      // Node imports it when the pages are rendered, from site/.vitepress/.temp.
      if (options.ssr) return { id, external: true };
      return this.resolve(id, importer, { ...options, skipSelf: true });
    },
  };
}

/** The repository has other Markdown, of its tests and its tools. */
function notPages() {
  const files = readdirSync(ROOT, { withFileTypes: true }).flatMap((entry) => {
    if (entry.isDirectory())
      return pages.some((page) => page.startsWith(`${entry.name}/`)) ? [] : [`${entry.name}/**`];
    return pages.includes(entry.name) ? [] : [entry.name];
  });
  return [
    ...files,
    ...['apps', 'bench'].flatMap((folder) => [`${folder}/**/!(README).md`, `${folder}/*/*/**`]),
  ];
}
