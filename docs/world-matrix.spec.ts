import { readFileSync, writeFileSync } from 'node:fs';
import { fileURLToPath } from 'node:url';
import { format } from 'oxfmt';
import { WORLD } from '../test/world/settings.js';

const PAGE = fileURLToPath(new URL('compatibility.md', import.meta.url));
const TABLE = /(?<=<!-- world matrix -->\n\n)[^]*?(?=\n<!-- end -->)/;

test('docs/compatibility.md shows each row of the world matrix, and what the engine does under it (npm run generate)', async () => {
  const rows = WORLD.map(({ name, settings, pooler, does }) => {
    const setting = settings && !pooler ? `\`${name}\`` : name;
    return `| ${setting} | ${does} |`;
  });
  const lines = ['| Setting | What the engine does |', '| --- | --- |', ...rows];
  const { code: table } = await format(PAGE, lines.join('\n'));
  const page = readFileSync(PAGE, 'utf8');
  if (process.env.GENERATE)
    writeFileSync(
      PAGE,
      page.replace(TABLE, () => table),
    );
  expect(TABLE.exec(readFileSync(PAGE, 'utf8'))?.[0]).toBe(table);
});
