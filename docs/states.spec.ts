import { readFileSync } from 'node:fs';
import ts from 'typescript';
import { WAITS } from '../libs/saga/src/nest/views/waiting-for.js';

const page = readFileSync(new URL('states.md', import.meta.url), 'utf8');

test('the page of states explains each kind of wait, and no other', () => {
  const section = page.split('## waitingFor')[1]!.split('\n## ')[0]!;
  const rows = section.matchAll(/^\| `(?!kind)([a-z-]+)`/gm);
  const explained = [...rows].map(([, kind]) => kind!);
  expect(explained.toSorted()).toEqual([...new Set(Object.values(WAITS).map(({ kind }) => kind))].sort());
});

/** The fields of each kind of wait, but for the kind itself, as the page writes them: `step?`. */
function fieldsOfKinds(): Map<string, string[]> {
  const file = new URL('../libs/saga/src/nest/views/waiting-for.ts', import.meta.url);
  const source = ts.createSourceFile('waiting-for.ts', readFileSync(file, 'utf8'), ts.ScriptTarget.Latest);
  const interfaces = source.statements.filter((one) => ts.isInterfaceDeclaration(one));
  const [waits] = source.statements.filter((one) => ts.isTypeAliasDeclaration(one));
  const membersOf = (type: ts.TypeNode): ts.PropertySignature[] => {
    if (ts.isParenthesizedTypeNode(type)) return membersOf(type.type);
    if (ts.isIntersectionTypeNode(type)) return type.types.flatMap(membersOf);
    const named = interfaces.find(({ name }) => name.text === type.getText(source));
    return [...(named ?? (type as ts.TypeLiteralNode)).members].filter((one) => ts.isPropertySignature(one));
  };
  const kinds = (waits!.type as ts.UnionTypeNode).types.map(membersOf).map((members) => {
    const kind = members.find(({ name }) => name.getText(source) === 'kind')!;
    const fields = members
      .filter((one) => one !== kind)
      .map(({ name, questionToken }) => `${name.getText(source)}${questionToken ? '?' : ''}`);
    return [kind.type!.getText(source).slice(1, -1), fields] as const;
  });
  return new Map(kinds);
}

test('the page of states names each field of each kind of wait, and no other', () => {
  const section = page.split('## waitingFor')[1]!.split('\n## ')[0]!;
  const rows = section.matchAll(/^\| `(?!kind)([a-z-]+)` *\|[^|]*\|([^|]*)\|/gm);
  const named = [...rows].map(([, kind, cell]) => {
    const fields = [...cell!.matchAll(/`([^`]+)`/g)].map(([, field]) => field!);
    return [kind!, fields.sort()] as const;
  });
  const known = [...fieldsOfKinds()].map(([kind, fields]) => [kind, fields.sort()] as const);
  expect(new Map(named)).toEqual(new Map(known));
});
