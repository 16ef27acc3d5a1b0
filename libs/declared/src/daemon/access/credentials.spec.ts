import { createHash } from 'node:crypto';
import { Credentials } from './credentials.js';

const TOKEN = 'a-token-of-a-shop-1';
const OTHER = 'a-token-of-an-operator';
const FILE = `
# name  role  token
shop  client  ${TOKEN}   # the shop
ann\toperator\tsha256:${createHash('sha256').update(OTHER).digest('hex')}
`;
const basic = (name: string, token: string) => `Basic ${Buffer.from(`${name}:${token}`).toString('base64')}`;

describe('a file of tokens', () => {
  const credentials = Credentials.read(FILE, 'tokens');

  test.each([
    ['a bearer token', `Bearer ${TOKEN}`, { name: 'shop', role: 'client' }],
    ['the scheme in any case', `bearer ${TOKEN}`, { name: 'shop', role: 'client' }],
    ['a token that is given as its digest', `Bearer ${OTHER}`, { name: 'ann', role: 'operator' }],
    ['basic authentication', basic('ann', OTHER), { name: 'ann', role: 'operator' }],
  ])('knows the caller by %s', (_, header, caller) => {
    expect(credentials.callerOf(header)).toEqual(caller);
  });

  test.each([
    ['no header', undefined],
    ['another token', `Bearer ${TOKEN}2`],
    ['the beginning of a token', `Bearer ${TOKEN.slice(0, -1)}`],
    ['an empty token', 'Bearer '],
    ['the digest itself', `Bearer sha256:${createHash('sha256').update(OTHER).digest('hex')}`],
    ['the name of another caller', basic('shop', OTHER)],
    ['no password', `Basic ${Buffer.from('ann').toString('base64')}`],
    ['another scheme', `Digest ${TOKEN}`],
  ])('knows no caller by %s', (_, header) => {
    expect(credentials.callerOf(header)).toBeUndefined();
  });

  test('names each invalid line, and shows no token', () => {
    const text = `ann admin ${OTHER}\nshop client short\nbob viewer ${TOKEN} more\n<b> viewer ${TOKEN}`;
    const read = () => Credentials.read(text, 'tokens');
    expect(read).toThrow(/tokens:1: the role is unknown; give one of viewer, client, operator\./);
    expect(read).toThrow(/tokens:2: the token must have at least 16 characters/);
    expect(read).toThrow(/tokens:3: write a name, a role and a token/);
    expect(read).toThrow(/tokens:4: the name is invalid/);
    expect(read).not.toThrow(/a-token/);
  });

  test.each([
    ['a name in the place of the token', `${TOKEN} client shop`],
    ['a role in its place', `shop ${TOKEN} client`],
    ['a name that is missing', `client ${TOKEN} viewer`],
  ])('shows no token of an invalid line: %s', (_, text) => {
    const read = () => Credentials.read(text, 'tokens');
    expect(read).toThrow(/^tokens:1: /);
    expect(read).not.toThrow(TOKEN);
  });

  test.each([
    ['too short', 'sha256:9f86d081884c7d65'],
    ['of another kind', `sha256:${'g'.repeat(64)}`],
    ['too long', `SHA256:${'a'.repeat(65)}`],
  ])('takes no digest that is %s for a token', (_, digest) => {
    expect(() => Credentials.read(`shop client ${digest}`, 'tokens')).toThrow(
      /tokens:1: sha256: must be followed by the 64 hexadecimal digits/,
    );
  });

  test('refuses one token for two callers, and two roles for one', () => {
    const digest = `sha256:${createHash('sha256').update(TOKEN).digest('hex')}`;
    expect(() => Credentials.read(`shop client ${TOKEN}\nann operator ${digest}`, 'tokens')).toThrow(
      /tokens:2: the token is that of a line before/,
    );
    expect(() => Credentials.read(`shop client ${TOKEN}\nshop operator ${OTHER}`, 'tokens')).toThrow(
      /tokens:2: the name has another role in a line before/,
    );
    expect(() => Credentials.read(`shop client ${TOKEN}\nshop client ${OTHER}`, 'tokens')).not.toThrow();
  });

  test.each(['', '# none\n\n'])('is refused without a token: %j', (text) => {
    expect(() => Credentials.read(text, 'tokens')).toThrow(/tokens has no token/);
  });
});

test('a token of the environment is of an operator, and refused if it is short', () => {
  expect(Credentials.of(TOKEN, 'SAGA_TOKEN').callerOf(`Bearer ${TOKEN}`)).toMatchObject({ role: 'operator' });
  expect(() => Credentials.of('short', 'SAGA_TOKEN')).toThrow(/SAGA_TOKEN: the token must have at least 16/);
});

test('tokens of the environment and of a file are valid side by side', () => {
  const both = Credentials.of(OTHER, 'SAGA_TOKEN').with(Credentials.read(`shop client ${TOKEN}`, 'tokens'));
  expect(both.callerOf(`Bearer ${TOKEN}`)).toEqual({ name: 'shop', role: 'client' });
  expect(both.callerOf(`Bearer ${OTHER}`)).toEqual({ name: 'operator', role: 'operator' });
});
