import { readFileSync } from 'node:fs';
import { ERROR_ANSWERS } from '../libs/saga/src/nest/error-answers.js';

const page = readFileSync(new URL('troubleshooting.md', import.meta.url), 'utf8');

test('the page of troubleshooting lists the codes of each HTTP status, and no other', () => {
  const rows = [...page.matchAll(/^\| (\d{3}) +\| (.*)\|$/gm)];
  const listed = rows.flatMap(([, status, codes]) =>
    [...codes!.matchAll(/`(SAGA_\w+)`/g)].map(([, code]) => [code, Number(status)]),
  );
  const known = Object.entries(ERROR_ANSWERS).map(([code, { status }]) => [code, status]);
  expect(Object.fromEntries(listed)).toEqual(Object.fromEntries(known));
});
