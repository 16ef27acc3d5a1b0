import { SagaConfigurationError } from '../../../errors.js';
import { severalHosts } from './several-hosts.js';

test('each host of a list is a URL of its own, with the user, the database and the parameters', () => {
  expect(
    severalHosts('postgres://u:p%40@a:1,b,[::1]:3/db?target_session_attrs=primary&sslmode=disable'),
  ).toEqual({
    urls: [
      'postgres://u:p%40@a:1/db?target_session_attrs=primary&sslmode=disable',
      'postgres://u:p%40@b/db?target_session_attrs=primary&sslmode=disable',
      'postgres://u:p%40@[::1]:3/db?target_session_attrs=primary&sslmode=disable',
    ],
    attributes: 'primary',
  });
  expect(severalHosts('postgresql://a,b/db')).toEqual({
    urls: ['postgresql://a/db', 'postgresql://b/db'],
    attributes: 'any',
  });
});

test.each([
  'postgres://u:p,q@a/db',
  'postgres://a/db,other',
  'postgres://a/db?options=one,two',
  'postgres:///db',
  '/var/run/postgresql db',
])('%s has one host', (url) => expect(severalHosts(url)).toBeUndefined());

test.each([
  [
    'postgres://a,b/db?target_session_attrs=prefer-standby',
    "is 'prefer-standby', which is not supported. Give one of any",
  ],
  ['postgres://a,,b/db', "The hosts 'a,,b' of the connection string are invalid"],
  ['postgres://a:x,b/db', "The hosts 'a:x,b' of the connection string are invalid"],
])('%s is refused', (url, message) => {
  expect(() => severalHosts(url)).toThrow(SagaConfigurationError);
  expect(() => severalHosts(url)).toThrow(message);
});
