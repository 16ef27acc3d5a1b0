import { execFile } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { promisify } from 'node:util';
import { declareSaga } from '../libs/declared/src/index.js';
import { SAGA_FIELDS, STEP_KINDS } from '../libs/declared/src/format/saga-format.js';
import type { Field, Fields, Shape } from '../libs/declared/src/format/shape.js';

const PAGE = fileURLToPath(new URL('declared-sagas.md', import.meta.url));
const BIN = fileURLToPath(new URL('../libs/cli/dist/saga.js', import.meta.url));
const MODULES = fileURLToPath(new URL('../node_modules', import.meta.url));
const [BEGIN, END] = ['<!-- keys -->\n', '<!-- /keys -->'];
const run = promisify(execFile);

const page = (): string => readFileSync(PAGE, 'utf8');
const blocks = (language: string): string[] =>
  [...page().matchAll(new RegExp(`^\`\`\`${language}\\n([^]*?)^\`\`\``, 'gm'))].map(([, block]) => block!);

describe('the page of declared sagas', () => {
  test('has every key of the format, and no other (npm run generate)', () => {
    const [before, rest] = page().split(BEGIN) as [string, string];
    const after = rest.slice(rest.indexOf(END));
    if (process.env.GENERATE) writeFileSync(PAGE, `${before}${BEGIN}\n${keys()}\n\n${after}`);
    expect(
      page()
        .slice(before.length + BEGIN.length, -after.length)
        .trim(),
    ).toBe(keys().trim());
  });

  test('shows files that are valid', async () => {
    expect(blocks('yaml').length).toBeGreaterThan(1);
    for (const text of blocks('yaml')) await declareSaga(text, { checkEnvironment: false });
  });

  test('has commands for a first saga that do what the page says', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'declared-page-'));
    symlinkSync(MODULES, join(folder, 'node_modules'));
    writeFileSync(join(folder, 'place-order.yaml'), blocks('yaml')[0]!);
    const commands = blocks('sh')[1]!.trim().split('\n');
    const codes: number[] = [];
    for (const command of commands) {
      const ended = run('sh', ['-c', command.replace('npx saga', `"${process.execPath}" "${BIN}"`)], {
        cwd: folder,
      });
      codes.push(
        await ended.then(
          () => 0,
          (error: { code: number }) => error.code,
        ),
      );
    }
    const log = readFileSync(join(folder, 'orders.log'), 'utf8').trim().split('\n');
    rmSync(folder, { recursive: true });
    expect(codes).toEqual([0, 1, 0]);
    expect(log).toEqual([
      ...['reserved cup', 'charged 12'],
      ...['reserved cup', 'released 1'],
      ...['reserved sofa', 'charged 1200'],
    ]);
  });
});

function keys(): string {
  const { steps: _, ...saga } = SAGA_FIELDS as Fields;
  const [common, kinds] = stepKeys();
  const seen = new Set<Fields>();
  const sections: [string, string][] = [
    ['The file', `${list(saga, 0, seen)}\n- \`steps\` (required): The steps by name, in order.`],
    ['Every step', list(common, 0, seen)],
    ...kinds.map(([kind, fields]): [string, string] => [`Steps with \`${kind}\``, list(fields, 0, seen)]),
  ];
  return sections.map(([title, text]) => `### ${title}\n\n${text}`).join('\n\n');
}

/** The keys that all kinds have, and the others of each kind. */
function stepKeys(): [Fields, [string, Fields][]] {
  const kinds = Object.entries(STEP_KINDS as Record<string, Fields>);
  const [, first] = kinds[0]!;
  const isCommon = (key: string) => kinds.every(([, fields]) => key in fields);
  const common = Object.fromEntries(Object.entries(first).filter(([key]) => isCommon(key)));
  const others = ([, fields]: [string, Fields]) =>
    Object.fromEntries(Object.entries(fields).filter(([key]) => !isCommon(key)));
  return [common, kinds.map((kind) => [kind[0], others(kind)])];
}

/** @param seen what was listed above, and is not listed again */
function list(fields: Fields, depth: number, seen: Set<Fields>): string {
  return Object.entries(fields)
    .flatMap(([key, field]) => [item(key, field, depth), ...inner(field, depth + 1, seen)])
    .join('\n');
}

function item(key: string, { required, about }: Field, depth: number): string {
  const text = about.replace(/\{\{.*?\}\}/g, (expression) => `\`${expression}\``);
  return `${'  '.repeat(depth)}- \`${key}\`${required ? ' (required)' : ''}: ${text}`;
}

/** Keys of compensations and probes are those of the steps' requests and commands. */
function inner(shape: Shape, depth: number, seen: Set<Fields>): string[] {
  if (shape.type === 'either') return shape.of.flatMap((one) => inner(one, depth, seen));
  if (shape.type !== 'object' || seen.has(shape.fields)) return [];
  seen.add(shape.fields);
  return [list(shape.fields, depth, seen)];
}
