import { X509Certificate } from 'node:crypto';
import { execFileSync } from 'node:child_process';
import { readFile } from 'node:fs/promises';
import { connect } from 'node:tls';
import { did, ServedFolder } from './support/served-folder.js';

const GREET = `
saga: greet
steps:
  say: { exec: { command: ${did('hello')} } }
`;

let served: ServedFolder;
beforeEach(async () => void (served = await ServedFolder.create({ 'greet.yaml': GREET })));
afterEach(() => served.end());

/** A certificate of its own authority; undefined: there is no openssl. */
function certify(name: string): { cert: string; key: string } | undefined {
  const [cert, key] = [served.path('cert.pem'), served.path('key.pem')];
  try {
    execFileSync(
      'openssl',
      [
        ...[
          'req',
          '-x509',
          '-newkey',
          'ec',
          '-pkeyopt',
          'ec_paramgen_curve:prime256v1',
          '-nodes',
          '-days',
          '1',
        ],
        ...['-subj', `/CN=${name}`, '-keyout', key, '-out', cert],
      ],
      { stdio: 'ignore' },
    );
    return { cert, key };
  } catch (error) {
    if ((error as { code?: string }).code === 'ENOENT') return undefined;
    throw error;
  }
}

/** The name in the certificate that a server shows. */
function shownName(address: string): Promise<string> {
  const { hostname, port } = new URL(address);
  return new Promise((resolve, reject) => {
    const socket = connect({ host: hostname, port: Number(port), rejectUnauthorized: false }, () => {
      const certificate = new X509Certificate(socket.getPeerCertificate().raw);
      socket.destroy();
      resolve(certificate.subject);
    });
    socket.on('error', reject);
  });
}

test('TLS: answers by https only, and a reload uses a renewed certificate', async () => {
  const tls = certify('first');
  if (!tls) return console.warn('SKIPPED: there is no openssl');
  const daemon = await served.start({ tls });
  expect(daemon.address).toMatch(/^https:/);
  expect(await shownName(daemon.address)).toBe('CN=first');
  await expect(fetch(daemon.address.replace('https:', 'http:'))).rejects.toThrow();
  certify('second');
  await daemon.reload();
  expect(await shownName(daemon.address)).toBe('CN=second');
  const { cert, key } = tls;
  const keyBefore = await readFile(key, 'utf8');
  certify('third');
  const files = { certificate: await readFile(cert, 'utf8'), key: await readFile(key, 'utf8') };
  for (const [certificate, pem] of [
    ['not a certificate', files.key],
    ['', ''],
    ['', files.key],
    [files.certificate, ''],
    [files.certificate.slice(0, 100), files.key],
    [files.certificate, keyBefore],
  ] as const) {
    await served.write('cert.pem', certificate);
    await served.write('key.pem', pem);
    await daemon.reload();
    expect(served.log.at(-1)).toMatch(/^Reload refused.*--tls-/);
    expect(await shownName(daemon.address)).toBe('CN=second');
  }
  await served.write('cert.pem', files.certificate);
  await served.write('key.pem', files.key);
  await served.write('greet.yaml', 'saga: [');
  await daemon.reload();
  expect(await shownName(daemon.address)).toBe('CN=second');
  await served.write('greet.yaml', GREET);
  await daemon.reload();
  expect(await shownName(daemon.address)).toBe('CN=third');
});

test('TLS: a file that cannot be read is named', async () => {
  const tls = { cert: served.path('no.pem'), key: served.path('no.pem') };
  await expect(served.start({ tls })).rejects.toThrow(/--tls-cert: the file cannot be read/);
});
