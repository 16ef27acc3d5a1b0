/**
 * The pages of the site, by task, in the order in which a newcomer reads them. A page of docs/ that is missing here, and
 * an entry without a page, fail the build.
 */
import { basename } from 'node:path';
import { existsSync, readdirSync } from 'node:fs';
import { fileURLToPath } from 'node:url';

const REFERENCE = fileURLToPath(new URL('../docs/reference', import.meta.url));

/** Each group: its title, and its pages as [title, file in the repository]. */
export const GROUPS = [
  [
    'Start',
    [
      ['All pages by task', 'docs/README.md'],
      ['Getting started', 'docs/getting-started.md'],
      ['Concepts', 'docs/concepts.md'],
      ['The order demo', 'apps/order-demo/README.md'],
      ['The credit demo', 'apps/credit-demo/README.md'],
      ['Troubleshooting', 'docs/troubleshooting.md'],
    ],
  ],
  [
    'Write sagas',
    [
      ['The step graph', 'docs/step-graph.md'],
      ['Failures and compensation', 'docs/failures.md'],
      ['Deadlines, locks and limits', 'docs/limits.md'],
      ['The state of a saga', 'docs/states.md'],
      ['Waiting for signals and people', 'docs/waiting.md'],
      ['Long steps, and watching', 'docs/long-steps.md'],
      ['Events', 'docs/events.md'],
      ['Versions', 'docs/versions.md'],
      ['Declared sagas', 'docs/declared-sagas.md'],
      ['Serving declared sagas', 'docs/daemon.md'],
    ],
  ],
  [
    'Recipes',
    [
      ['Tell the customer the state', 'docs/recipes/order-status.md'],
      ['Order list', 'docs/recipes/order-list.md'],
      ['Live orders', 'docs/recipes/live-orders.md'],
      ['Resumable import', 'docs/recipes/resumable-import.md'],
      ['Payments', 'docs/recipes/payments.md'],
      ['Webhooks', 'docs/recipes/webhooks.md'],
      ['Human approval', 'docs/recipes/human-approval.md'],
      ['Long timers', 'docs/recipes/long-timers.md'],
      ['Schedules', 'docs/recipes/schedules.md'],
      ['Transactional steps', 'docs/recipes/transactional-steps.md'],
      ['Ambient transactions', 'docs/recipes/ambient-transactions.md'],
      ['Multi-tenant', 'docs/recipes/multi-tenant.md'],
      ['Versioning and deploys', 'docs/recipes/versioning-and-deploys.md'],
      ['In a Vendure project', 'docs/vendure.md'],
    ],
  ],
  [
    'Packages',
    [
      ['Messaging', 'docs/packages/messaging.md'],
      ['Telemetry', 'docs/packages/telemetry.md'],
      ['Admin', 'docs/packages/admin.md'],
      ['Declared', 'docs/packages/declared.md'],
      ['Command line', 'docs/packages/cli.md'],
      ['Restate', 'docs/packages/restate.md'],
    ],
  ],
  [
    'Database layers',
    [
      ['All layers', 'docs/databases/README.md'],
      ['I use pg', 'docs/databases/pg.md'],
      ['I use Drizzle', 'docs/databases/drizzle.md'],
      ['I use Kysely', 'docs/databases/kysely.md'],
      ['I use Knex', 'docs/databases/knex.md'],
      ['I use MikroORM', 'docs/databases/mikro-orm.md'],
      ['I use Prisma', 'docs/databases/prisma.md'],
    ],
  ],
  [
    'Test',
    [
      ['Testing your sagas', 'docs/testing.md'],
      ['Recipe: kinds of test', 'docs/recipes/testing.md'],
    ],
  ],
  [
    'Messaging',
    [
      ['Messages', 'docs/messaging.md'],
      ['Remote steps', 'docs/remote-steps.md'],
    ],
  ],
  [
    'Operate',
    [
      ['The dashboard', 'docs/operating.md'],
      ['The command line', 'docs/command-line.md'],
      ['What operators can do', 'docs/operator-calls.md'],
      ['Start and shutdown', 'docs/life-cycle.md'],
      ['Telemetry', 'docs/telemetry.md'],
      ['Tuning', 'docs/tuning.md'],
      ['Shards', 'docs/shards.md'],
      ['On a Restate cluster', 'docs/restate.md'],
      ['Capacity', 'docs/capacity.md'],
      ['Retention', 'docs/retention.md'],
      ['Encryption', 'docs/encryption.md'],
    ],
  ],
  [
    'Reference',
    [
      ['Every option', 'docs/options.md'],
      ['API reference', 'docs/reference/README.md'],
      ['Guarantees', 'docs/guarantees.md'],
      ['Compatibility', 'docs/compatibility.md'],
      ['Changelog', 'CHANGELOG.md'],
    ],
  ],
  [
    'Background',
    [
      ['Comparison', 'docs/comparison.md'],
      ['Performance', 'docs/performance.md'],
      ['Reliability', 'docs/reliability.md'],
      ['From a status column', 'docs/migrating/hand-written.md'],
      ['From @nestjs/cqrs', 'docs/migrating/nestjs-cqrs.md'],
      ['From BullMQ', 'docs/migrating/bullmq-flows.md'],
    ],
  ],
  [
    'Contribute',
    [
      ['Contributing', 'CONTRIBUTING.md'],
      ['Architecture', 'docs/architecture.md'],
      ['Benchmarks', 'bench/README.md'],
      ...decisions(),
    ],
  ],
];

export const PAGES = GROUPS.flatMap(([, pages]) => pages.map(([, file]) => file));

/** The address of a page, as a path of Markdown in the site. */
export function siteOf(file) {
  if (file === 'README.md') return 'index.md';
  if (file === 'docs/README.md') return 'documentation.md';
  const path = file.replace(/^(docs|apps)\//, '');
  if (path === file && !file.includes('/')) return file.toLowerCase();
  return path.startsWith('reference/')
    ? path.replace(/README\.md$/, 'index.md')
    : path.replace(/\/README\.md$/, '.md');
}

/** The address of a page in a browser, without the base. */
export const linkOf = (file) =>
  `/${siteOf(file)
    .replace(/(^|\/)index\.md$/, '$1')
    .replace(/\.md$/, '.html')}`;

export function sidebar() {
  const guide = GROUPS.map(([text, pages], index) => ({
    text,
    collapsed: index > 6,
    items: pages.map(([title, file]) => ({ text: title, link: linkOf(file) })),
  }));
  return {
    '/': guide,
    '/reference/': [{ text: '← All pages', link: '/documentation.html' }, ...reference()],
  };
}

/** The generated pages: a group for each entry point, in it one for each kind. */
function reference() {
  if (!existsSync(REFERENCE)) return [];
  return entriesIn('').map((entry) => ({
    text: entry === 'index' ? 'nestjs-durable-saga' : `nestjs-durable-saga/${basename(entry)}`,
    link: linkOf(`docs/reference/${entry}/README.md`),
    collapsed: entry !== 'index',
    items: foldersIn(entry).map((kind) => ({
      text: kind,
      collapsed: kind !== 'classes',
      items: readdirSync(`${REFERENCE}/${entry}/${kind}`).map((name) => ({
        text: name.replace(/\.md$/, ''),
        link: linkOf(`docs/reference/${entry}/${kind}/${name}`),
      })),
    })),
  }));
}

/** The folders of entry points: databases/pg is one, and databases is none. */
function entriesIn(path) {
  return foldersIn(path).flatMap((name) => {
    const entry = path === '' ? name : `${path}/${name}`;
    return existsSync(`${REFERENCE}/${entry}/README.md`) ? [entry] : entriesIn(entry);
  });
}

function foldersIn(path) {
  return readdirSync(`${REFERENCE}/${path}`, { withFileTypes: true })
    .filter((entry) => entry.isDirectory())
    .map(({ name }) => name);
}

function decisions() {
  const folder = new URL('../docs/decisions/', import.meta.url);
  return readdirSync(folder)
    .filter((name) => name.endsWith('.md'))
    .sort()
    .map((name) => [`Decision ${name.replace(/\.md$/, '').replaceAll('-', ' ')}`, `docs/decisions/${name}`]);
}
