import type { DeclaredSaga, SagaSource } from '../../read-sagas.js';
import { labelOf, nextSagas, NO_SAGAS, type ServedSagas } from './next-sagas.js';

const file = (saga: string, { version = 1, step = 'ls', more = '' } = {}): SagaSource => ({
  file: `${saga}.yaml`,
  text: `saga: ${saga}\nversion: ${version}\nsteps:\n  a: { exec: { command: [${step}] } }\n${more}`,
});
const parent = (child: string): SagaSource => ({
  file: 'parent.yaml',
  text: `saga: parent\nsteps:\n  a: { subSaga: { saga: ${child} } }\n`,
});
const running =
  (...labels: string[]) =>
  async (saga: DeclaredSaga) =>
    labels.includes(labelOf(saga));
const none = running();
const first = (...sources: SagaSource[]) => nextSagas(sources, NO_SAGAS, none);
const shown = ({ current, retired }: ServedSagas) => [current.map(labelOf), retired.map(labelOf)];

test('all files are run at first', async () => {
  expect(shown(await first(file('a'), file('b')))).toEqual([['a@1', 'b@1'], []]);
});

test('a new version is added, and the old one stays as long as sagas of it run', async () => {
  const served = await first(file('a'));
  const next = await nextSagas([file('a', { version: 2 })], served, running('a@1'));
  expect(shown(next)).toEqual([['a@2'], ['a@1']]);
  const third = await nextSagas([file('a', { version: 3 })], next, running('a@1', 'a@2'));
  expect(shown(third)).toEqual([['a@3'], ['a@2', 'a@1']]);
  expect(shown(await nextSagas([file('a', { version: 3 })], third, none))).toEqual([['a@3'], []]);
});

test('a changed file with the same version is refused while sagas of it run, with the next version', async () => {
  const served = await first(file('a'), file('b'));
  const changed = [file('a', { step: 'cat' }), file('b')];
  await expect(nextSagas(changed, served, running('a@1'))).rejects.toMatchObject({
    problems: [
      {
        ...{ file: 'a.yaml', line: 1, column: 1 },
        problem: "the file has changed, but its version 1 has not, and sagas of 'a' are running",
        fix: 'set version: 2, or wait until they have ended',
      },
    ],
  });
  const { current } = await nextSagas(changed, served, running('b@1'));
  expect(current[0]!.text).toBe(changed[0]!.text);
});

test('a version that has lost its file is compared as well when a file of it comes back', async () => {
  const served = await nextSagas([], await first(file('a')), running('a@1'));
  await expect(nextSagas([file('a', { step: 'cat' })], served, running('a@1'))).rejects.toThrow(/version 1/);
  expect(shown(await nextSagas([file('a')], served, running('a@1')))).toEqual([['a@1'], []]);
});

test('comments and layout are no change, and the order of steps is', async () => {
  const served = await first(file('a'));
  const same = { file: 'a.yaml', text: '# new\nsaga: "a"\nversion: 1\nsteps: {a: {exec: {command: [ls]}}}' };
  expect(shown(await nextSagas([same], served, running('a@1')))).toEqual([['a@1'], []]);
  const steps = ['  x: { exec: { command: [ls] } }\n', '  y: { exec: { command: [ls] } }\n'];
  const two = (order: string[]) => file('b', { more: order.join('') });
  const both = await first(two(steps));
  await expect(nextSagas([two(steps.reverse())], both, running('b@1'))).rejects.toThrow(/has changed/);
});

test('a removed file stays until its sagas have ended, with the sub-sagas that they may start', async () => {
  const served = await first(parent('child'), file('child'), file('other'));
  const next = await nextSagas([file('other')], served, running('parent@1'));
  expect(shown(next)).toEqual([['other@1'], ['parent@1', 'child@1']]);
  expect(shown(await nextSagas([file('other')], next, none))).toEqual([['other@1'], []]);
});

test('a lower version is refused while sagas of a higher one run: new ones would start on that', async () => {
  const served = await first(file('a', { version: 2 }));
  await expect(nextSagas([file('a')], served, running('a@2'))).rejects.toThrow(
    /a\.yaml:1:1: version 1 is lower than version 2, and sagas of 'a' are running.*set version: 3/,
  );
  expect(shown(await nextSagas([file('a')], served, none))).toEqual([['a@1'], []]);
  const both = [file('a'), { ...file('a', { version: 2 }), file: 'a2.yaml' }];
  expect(shown(await nextSagas(both, served, running('a@2')))).toEqual([['a@1', 'a@2'], []]);
});

test('an invalid file is refused with its lines, and so is a sub-saga that is nowhere', async () => {
  const served = await first(file('a'));
  await expect(nextSagas([file('a', { more: 'tags: 1' })], served, none)).rejects.toThrow(/a\.yaml:5:1/);
  await expect(nextSagas([parent('gone')], served, none)).rejects.toThrow(/there is no saga 'gone'/);
});
