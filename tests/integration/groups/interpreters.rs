//! The names of programs that interpreters run.

use zmtop::group::command_name;
use zmtop::model::{Facts, Missing};

use super::bytes;

/// The name of a program of this file and these arguments, with spaces for NULs between.
fn name(comm: &str, exe: Option<&str>, arguments: &str) -> String {
    let facts = Facts {
        exe: exe.map(bytes).ok_or(Missing::Denied),
        cmdline: Ok([arguments.replace(' ', "\0").as_bytes(), b"\0"].concat().into()),
        ..Facts::pending(comm.as_bytes())
    };
    String::from_utf8_lossy(&command_name(&facts, || None)).into()
}

#[track_caller]
fn check(exe: &str, cases: &[(&str, &str)]) {
    for (arguments, want) in cases {
        let first = arguments.split(' ').next().unwrap();
        let comm = first.rsplit('/').next().unwrap();
        assert_eq!(name(comm, Some(exe), arguments), *want, "{arguments}");
    }
}

#[test]
fn a_python_program_is_its_script_or_module() {
    check(
        "/usr/bin/python3.11",
        &[
            ("python3 ingest.py", "python3 ingest.py"),
            ("python3.11 /srv/ingest.py --token hunter2", "python3 ingest.py"),
            ("/venv/bin/python -u -X dev -W ignore ingest.py", "python3 ingest.py"),
            ("python3 -uX dev -Wignore ./ingest.py", "python3 ingest.py"),
            ("python3 --check-hash-based-pycs always x.py", "python3 x.py"),
            ("python3 -m http.server 8000", "python3 -m http.server"),
            ("python3 -Im http.server", "python3 -m http.server"),
            ("python3 -mhttp.server 8000", "python3 -m http.server"),
            ("python3 -c print('secret') x.py", "python3 -c"),
            ("python3 -uc print(1)", "python3 -c"),
            ("python3 -- x.py", "python3 x.py"),
            // Without one it is itself.
            ("python3", "python3.11"),
            ("python3 -i", "python3.11"),
            ("python3 - secret", "python3.11"),
            ("python3 -m", "python3.11"),
            ("python3 /", "python3.11"),
            // However a script was started.
            (
                "/usr/bin/python3 /usr/bin/fail2ban-server -f",
                "python3 fail2ban-server",
            ),
            ("python3 /srv/app/", "python3 app"),
        ],
    );
    // comm is the script's then, or any.
    let python = Some("/usr/bin/python3.13");
    assert_eq!(
        name("train.py", python, "/usr/bin/python3 ./train.py"),
        "python3 train.py"
    );
    assert_eq!(name("worker-3", python, "python3 main.py"), "python3 main.py");
    check("/usr/bin/python2.7", &[("python x.py", "python2 x.py")]);
    check("/opt/pypy3.10", &[("pypy3 x.py", "pypy3 x.py")]);
}

#[test]
fn a_script_of_a_name_that_says_nothing_has_its_directory() {
    check(
        "/usr/bin/node",
        &[
            ("node /srv/shop/index.js", "node shop/index.js"),
            ("node dist/main.js", "node dist/main.js"),
            ("node ./index.js", "node index.js"),
            ("node /index.js", "node index.js"),
            ("node ../index.js", "node index.js"),
            ("node /srv/shop/server.js", "node server.js"),
        ],
    );
    check(
        "/usr/bin/python3",
        &[("python3 /opt/tool/__main__.py", "python3 tool/__main__.py")],
    );
    check("/jvm/bin/java", &[("java org.acme.shop.Main", "java shop.Main")]);
}

#[test]
fn a_program_of_node_deno_and_bun_is_its_script() {
    check(
        "/usr/local/bin/node",
        &[
            ("node server.js", "node server.js"),
            (
                "node --max-old-space-size=4096 --require ./x.js --import y server.js",
                "node server.js",
            ),
            ("node -r dotenv/config server.js --key hunter2", "node server.js"),
            ("node --env-file .env server.js", "node server.js"),
            (
                "node --inspect=0.0.0.0 /app/node_modules/.bin/vite --port 1",
                "node vite",
            ),
            ("node -e secret()", "node -e"),
            ("node --eval secret()", "node --eval"),
            ("node", "node"),
        ],
    );
    // It calls its main thread so, and its file's name is a version's in some installations.
    assert_eq!(
        name("MainThread", Some("/opt/node22"), "node server.js"),
        "node server.js"
    );
    check(
        "/usr/bin/deno",
        &[
            ("deno run -A --config deno.json main.ts", "deno main.ts"),
            ("deno run https://key@host.example/dir/x.ts?token=hunter2", "deno x.ts"),
            ("deno task start", "deno task"),
        ],
    );
    check(
        "/usr/bin/bun",
        &[
            ("bun run --preload ./p.ts app.ts", "bun app.ts"),
            ("bun app.ts", "bun app.ts"),
        ],
    );
}

#[test]
fn a_program_of_java_is_its_archive_or_class() {
    check(
        "/usr/lib/jvm/java-17/bin/java",
        &[
            ("java -jar x.jar", "java -jar x.jar"),
            (
                "/usr/bin/java -Xmx2g -Dpassword=hunter2 -jar /srv/app/x.jar --key secret",
                "java -jar x.jar",
            ),
            (
                "java -cp /a.jar:/b.jar org.apache.kafka.Kafka server.properties",
                "java Kafka",
            ),
            (
                "java -classpath lib/* -Xms1g org.elasticsearch.bootstrap.Elasticsearch",
                "java Elasticsearch",
            ),
            (
                "java --add-opens java.base/java.lang=ALL-UNNAMED --add-modules x y.Z$Inner",
                "java Z$Inner",
            ),
            ("java -javaagent:/a.jar -ea -server org.acme.App", "java App"),
            (
                "java --module-path mods -m org.acme.app/org.acme.app.Start",
                "java -m org.acme.app",
            ),
            ("java --source 21 tools/Hello.java", "java Hello.java"),
            ("java @/etc/jvm.options -jar x.jar", "java -jar x.jar"),
            // The class may stand in the file: what follows is then an argument.
            ("java @run.args hunter2", "java @run.args"),
            ("java --token=x p@ssw0rd", "java"),
            ("java -version", "java"),
        ],
    );
}

#[test]
fn a_script_of_a_shell_is_a_program_and_a_shell_is_itself() {
    check(
        "/usr/bin/bash",
        &[
            ("bash deploy.sh prod", "bash deploy.sh"),
            ("/bin/bash -eu -o pipefail ./deploy.sh", "bash deploy.sh"),
            ("bash -euo pipefail deploy.sh", "bash deploy.sh"),
            ("bash --rcfile x +x -x deploy.sh", "bash deploy.sh"),
            ("bash +O extglob deploy.sh", "bash deploy.sh"),
            ("/bin/sh /usr/bin/startx", "sh startx"),
            ("bash -c secret", "bash -c"),
            ("bash -lc secret", "bash -c"),
            ("bash", "bash"),
            ("bash -il", "bash"),
            ("bash -s hunter2", "bash"),
            ("bash --posix -", "bash"),
            ("bash /dev/fd/63", "bash"),
            ("bash /proc/self/fd/3 x", "bash"),
        ],
    );
    assert_eq!(name("bash", Some("/usr/bin/bash"), "-bash"), "bash");
    // Debian's sh is dash, alpine's is busybox.
    assert_eq!(name("sh", Some("/usr/bin/dash"), "sh -c secret"), "sh -c");
    assert_eq!(name("sh", Some("/usr/bin/dash"), "sh"), "sh");
    assert_eq!(name("sh", Some("/bin/busybox"), "/bin/sh /run.sh"), "sh run.sh");
    assert_eq!(name("httpd", Some("/bin/busybox"), "httpd run.sh"), "httpd");
    check(
        "/usr/bin/fish",
        &[
            ("fish --init-command x y.fish", "fish y.fish"),
            ("fish --command x", "fish --command"),
        ],
    );
}

#[test]
fn a_program_of_another_interpreter_is_its_script() {
    let cases = [
        (
            "/usr/bin/ruby3.1",
            "ruby -I lib -rbundler/setup -W0 bin/rails s",
            "ruby rails",
        ),
        ("/usr/bin/ruby3.1", "ruby -ne secret", "ruby -e"),
        ("/usr/bin/perl5.36.0", "perl -w -Ilib -Mstrict -I lib x.pl", "perl x.pl"),
        ("/usr/bin/perl", "perl -lane secret x", "perl -e"),
        ("/usr/bin/perl", "perl -i.bak x.pl", "perl x.pl"),
        (
            "/usr/bin/php8.2",
            "php -d memory_limit=1G artisan queue:work",
            "php artisan",
        ),
        ("/usr/bin/php8.2", "php -f x.php", "php x.php"),
        ("/usr/bin/php8.2", "php -r secret", "php -r"),
        (
            "/usr/lib/R/bin/exec/R",
            "/usr/lib/R/bin/exec/R --no-echo --file=fit.R --args secret",
            "R fit.R",
        ),
        ("/usr/bin/lua5.4", "lua -l socket -e x=1 x.lua", "lua x.lua"),
        ("/usr/bin/mono", "mono --debug /opt/x.exe", "mono x.exe"),
        (
            "/usr/share/dotnet/dotnet",
            "dotnet exec --depsfile x.json app.dll",
            "dotnet app.dll",
        ),
        ("/usr/share/dotnet/dotnet", "dotnet app.dll secret", "dotnet app.dll"),
    ];
    for (exe, arguments, want) in cases {
        check(exe, &[(arguments, want)]);
    }
}

#[test]
fn a_title_in_place_of_arguments_is_no_script() {
    let of = |comm: &str, exe: &str, line: &[u8]| {
        let facts = Facts {
            exe: Ok(bytes(exe)),
            cmdline: Ok(line.into()),
            ..Facts::pending(comm.as_bytes())
        };
        String::from_utf8_lossy(&command_name(&facts, || None)).into_owned()
    };
    assert_eq!(of("npm start", "/usr/bin/node", b"npm start\0\0\0\0"), "npm start");
    assert_eq!(
        of("gunicorn: maste", "/usr/bin/python3.11", b"gunicorn: master [app]\0\0"),
        "gunicorn: maste"
    );
    assert_eq!(
        of("puma", "/usr/bin/ruby3.1", b"puma 6.0 (tcp://0.0.0.0/ruby) [x]\0"),
        "puma"
    );
    assert_eq!(
        of(
            "postgres",
            "/usr/lib/postgresql/15/bin/postgres",
            b"postgres: writer\0\0"
        ),
        "postgres"
    );
    assert_eq!(
        of("php-fpm8.2", "/usr/sbin/php-fpm8.2", b"php-fpm: pool www\0\0"),
        "php-fpm8.2"
    );
    // The name of an interpreter in the arguments alone makes no interpreter.
    assert_eq!(of("evil", "/tmp/evil", b"python3\0x.py\0"), "evil");
    assert_eq!(of("node", "/usr/bin/node", b""), "node");
}

#[test]
fn where_the_file_is_hidden_the_first_argument_tells() {
    assert_eq!(name("python3", None, "python3 ingest.py"), "python3 ingest.py");
    assert_eq!(name("x", None, "/usr/bin/x y"), "x");
}

#[test]
fn a_name_is_short_and_raw() {
    let long = "x".repeat(4000);
    let name_of = |script: &str| name("node", Some("/usr/bin/node"), &format!("node /{long}/{script}"));
    assert_eq!(name_of(&long), format!("node {}", "x".repeat(64)));
    assert_eq!(name_of("index.js"), "node index.js");
    // It ends with a whole character.
    let wide = "€".repeat(40);
    assert_eq!(name_of(&wide), format!("node {}", "€".repeat(21)));
    assert_eq!(name_of("\x1b]52;c;x\x07"), "node \x1b]52;c;x\x07");
    let module = name("python3", Some("/usr/bin/python3"), &format!("python3 -m {long}"));
    assert_eq!(module.len(), "python3 -m ".len() + 64);
}
