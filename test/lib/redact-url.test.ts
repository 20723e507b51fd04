import fc from 'fast-check';
import { expect, test } from 'vitest';
import { redactUrl } from '../../src/lib/redact-url.ts';

test.each([
  ['postgres://ann:secret@host:5432/db', 'postgres://ann:***@host:5432/db'],
  ['postgres://ann:secret@host/db?sslmode=require', 'postgres://ann:***@host/db?sslmode=require'],
  ['postgres://ann:sec@re/t?x#y@host/db', 'postgres://ann:***@host/db'],
  ['postgres://ann:12/secret@host/db', 'postgres://ann:***@host/db'],
  ['postgres://ann:x@?a=secret@host/db', 'postgres://ann:***@host/db'],
  ['postgres://ann@server:secret@host/db', 'postgres://ann@server:***@host/db'],
  ['postgres://ann:se cret\n@host/db', 'postgres://ann:***@host/db'],
  ['postgres://:secret@host/db', 'postgres://:***@host/db'],
  ['postgres://ann:secret@[::1]:5432/db', 'postgres://ann:***@[::1]:5432/db'],
  ['postgres://ann:secret', 'postgres://ann:***'],
  ['ann:secret@host/db', 'ann:***@host/db'],
  ['postgres://host/db?user=ann&password=s%20e-c.ret&x=1', 'postgres://host/db?user=ann&password=***&x=1'],
  ['postgres://ann:secret@host/db?sslpassword=secret', 'postgres://ann:***@host/db?sslpassword=***'],
  ['//ann:secret@host/db', '//ann:***@host/db'],
  ['//ann:secret', '//ann:***'],
  ['postgres://host/db?user=ann&password=a#secret', 'postgres://host/db?user=ann&password=***'],
  ['password=a#secret://x', 'password=***'],
  ["host=h password='a \\' secret' user=ann", 'host=h password=*** user=ann'],
  ['host=h password=a\\ secret&secret user=ann', 'host=h password=*** user=ann'],
  ['PASSWORD = secret', 'PASSWORD=***'],
  ['"postgres://ann:secret@host/db"', '"postgres://ann:***@host/db"'],
  ["psql 'postgresql://ann:secret@host/db'", "psql 'postgresql://ann:***@host/db'"],
  ['DATABASE_URL=postgres://ann:secret@host/db', 'DATABASE_URL=postgres://ann:***@host/db'],
  ['postgres//ann:secret@host/db', 'postgres//ann:***@host/db'],
  ['postgres_x://ann:secret@host/db', 'postgres_x://ann:***@host/db'],
  ['1postgres://ann:secret@host/db', '1postgres://ann:***@host/db'],
  ['\u200bpostgres://ann:secret@host/db', '\u200bpostgres://ann:***@host/db'],
  ['"ann:se//cret:x@host', '"ann:***@host'],
  ['1postgres://ann://secret//@host', '1postgres://ann:***@host'],
  ['"postgres://ann:x@?a=secret@host/db"', '"postgres://ann:***@host/db"'],
  ['"postgres://ann:secret"', '"postgres://ann:***'],
])('the password of %j is not shown', (url, shown) => {
  expect(redactUrl(url)).toBe(shown);
});

test.each([
  '',
  'postgres://host:5432/db',
  'postgres://ann@host:5432/db',
  'postgres://ann@host:5432/db?application_name=a@b',
  'postgres://[::1]:5432/db',
  'postgres:///db?host=/tmp',
  'host=/tmp user=ann dbname=db',
  '"postgres://host:5432/db"',
  '"postgres://ann@host:5432/db"',
  '"postgres://host:5432"',
])('%j, which has none, is shown as it is', (url) => {
  expect(redactUrl(url)).toBe(url);
});

test('no password, encoded or not, is ever shown', () => {
  const password = fc.string({ unit: 'binary-ascii', maxLength: 8 }).map((text) => `${text}S3CR3T${text}`);
  fc.assert(
    fc.property(
      password,
      fc.constantFrom('', '"', "psql '", 'DATABASE_URL=', '\u200b', '1'),
      fc.constantFrom('', '?sslmode=require', '/db?a=b@c', '/db"'),
      (text, before, rest) => {
        for (const secret of [text, encodeURIComponent(text)])
          expect(redactUrl(`${before}postgres://ann:${secret}@host${rest}`)).not.toContain('S3CR3T');
      },
    ),
    { numRuns: 2000 },
  );
});
