//! Builds the Java agent with the JDK and the ASM library of this machine, if it has them. Without
//! them the crate is built without the agent, and recording a Java program fails with a message
//! that says how to get the agent.

use std::path::{Path, PathBuf};
use std::process::Command;
use std::{env, fs, io};

/// Directory of Debian's libasm-java.
const ASM: &str = "/usr/share/java";
/// Environment variable with the directory of ASM's jars.
const ASM_DIR: &str = "FORETELL_ASM_DIR";
/// Jars of ASM that the agent uses.
const LIBRARIES: [&str; 2] = ["asm", "asm-tree"];
/// Jars of ASM that only making the agent's jar uses.
const TOOLS: [&str; 1] = ["asm-commons"];

fn main() {
    let root = PathBuf::from(env::var_os("CARGO_MANIFEST_DIR").unwrap_or_default());
    let sources = root.join("../../agents/java");
    println!("cargo::rerun-if-changed={}", sources.display());
    for variable in ["JAVA_HOME", ASM_DIR] {
        println!("cargo::rerun-if-env-changed={variable}");
    }
    let out = PathBuf::from(env::var_os("OUT_DIR").unwrap_or_default());
    let jar = out.join("foretell-agent.jar");
    if let Err(why) = build(&sources, &out, &jar) {
        println!("cargo::warning=without the Java agent: {why}");
        // A package that is installed later keeps the old times of its files; the directories that
        // it is put into change.
        for directory in [ASM, "/usr/lib/jvm", "/usr/bin"] {
            println!("cargo::rerun-if-changed={directory}");
        }
        // An empty file is embedded instead.
        if let Err(error) = fs::write(&jar, b"") {
            println!("cargo::error={}: {error}", jar.display());
        }
    }
}

fn build(sources: &Path, out: &Path, jar: &Path) -> Result<(), String> {
    let find = |name: &&str| {
        find(name)
            .ok_or_else(|| format!("{name}.jar is not there (Debian: libasm-java; or {ASM_DIR})"))
    };
    let libraries = LIBRARIES.iter().map(find).collect::<Result<Vec<_>, _>>()?;
    let tools = TOOLS.iter().map(find).collect::<Result<Vec<_>, _>>()?;
    let class_path = env::join_paths(libraries.iter().chain(&tools)).map_err(|e| e.to_string())?;
    let compile = |sources: &[PathBuf], to: &Path| {
        let _ = fs::remove_dir_all(to);
        fs::create_dir_all(to).map_err(|e| e.to_string())?;
        let mut javac = Command::new(tool("javac"));
        javac.args([
            "-nowarn",
            "-Xlint:-options",
            "--release",
            "8",
            "-g",
            "-encoding",
            "UTF-8",
            "-cp",
        ]);
        run(javac.arg(&class_path).arg("-d").arg(to).args(sources))
    };
    let (classes, shade) = (out.join("agent-classes"), out.join("shade-classes"));
    compile(&[sources.join("build/Shade.java")], &shade)?;
    let mut files = Vec::new();
    collect(&sources.join("src"), &mut files).map_err(|e| e.to_string())?;
    compile(&files, &classes)?;
    let mut tools = env::split_paths(&class_path).collect::<Vec<_>>();
    tools.push(shade);
    let tools = env::join_paths(tools).map_err(|e| e.to_string())?;
    let mut java = Command::new(tool("java"));
    let tables = sources.join("src");
    run(java.arg("-cp").arg(tools).arg("Shade").arg(jar).arg(classes).arg(tables).args(libraries))
}

/// Returns the path of a library of ASM: in the directory that the user names, else that of Debian's
/// packages, else the newest in Maven's repository.
fn find(name: &str) -> Option<PathBuf> {
    let in_directory = |directory: &Path| {
        Some(directory.join(format!("{name}.jar"))).filter(|path| path.is_file())
    };
    if let Some(directory) = env::var_os(ASM_DIR) {
        return in_directory(Path::new(&directory));
    }
    in_directory(Path::new(ASM)).or_else(|| {
        let repository = Path::new(&env::var_os("HOME")?).join(".m2/repository/org/ow2/asm");
        let versions = fs::read_dir(repository.join(name)).ok()?;
        let version = |text: &str| -> Option<Vec<u32>> {
            text.split('.').map(|part| part.parse().ok()).collect()
        };
        let jars = versions.flatten().filter_map(|entry| {
            let text = entry.file_name().into_string().ok()?;
            let jar = entry.path().join(format!("{name}-{text}.jar"));
            jar.is_file().then_some((version(&text)?, jar))
        });
        // Older ones do not know the classes of Java 17.
        jars.filter(|(version, _)| version.as_slice() >= [9, 1].as_slice())
            .max()
            .map(|(_, jar)| jar)
    })
}

/// Returns the path of a program of the JDK.
fn tool(name: &str) -> PathBuf {
    let home = env::var_os("JAVA_HOME").map(|home| Path::new(&home).join("bin").join(name));
    home.filter(|path| path.is_file()).unwrap_or_else(|| name.into())
}

fn run(command: &mut Command) -> Result<(), String> {
    let name = command.get_program().to_string_lossy().into_owned();
    let output = command.output().map_err(|error| format!("cannot run {name}: {error}"))?;
    if output.status.success() {
        return Ok(());
    }
    let said = String::from_utf8_lossy(&output.stderr);
    let first = said.lines().find(|line| !line.trim().is_empty()).unwrap_or_default();
    Err(format!("{name} fails: {first}"))
}

fn collect(directory: &Path, files: &mut Vec<PathBuf>) -> io::Result<()> {
    for entry in fs::read_dir(directory)? {
        let path = entry?.path();
        if path.is_dir() {
            collect(&path, files)?;
        } else if path.extension().is_some_and(|e| e == "java") {
            files.push(path);
        }
    }
    files.sort();
    Ok(())
}
