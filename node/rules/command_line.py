"""Reading a command as it is written: an argv that needs no shell, or shell text; and what runs other programs. Pure.

Nothing is parsed to permit it: a command is an argv only when a shell would read exactly the same words.
"""

from __future__ import annotations

import re
import unicodedata
from dataclasses import dataclass

COMMAND_CHARS = 8_000

_UNSEEN = frozenset({"Cc", "Cf", "Cs", "Co", "Cn", "Zl", "Zp"})
_LOOK_ALIKES = (
    "CYRILLIC",
    "GREEK",
    "ARMENIAN",
    "LATIN",
    "FULLWIDTH",
    "MATHEMATICAL",
    "NO-BREAK",
    "EN ",
    "EM ",
    "IDEOGRAPHIC SPACE",
)
_WORD = r"""(?:[A-Za-z0-9_@%+=:,./-]|'[^'\n\t]*'|"[^"$`\\!\n\t]*")+"""
_ARGV = re.compile(rf"[ \t]*{_WORD}(?:[ \t]+{_WORD})*[ \t]*")
_WORDS = re.compile(_WORD)
_QUOTED = re.compile(r"""'([^']*)'|"([^"]*)\"""")
_VERSION = re.compile(r"(?<=[a-z])[-.]?\d[\d.]*(?:[-.](?:exe|bin))?$")


def names(text: str) -> frozenset[str]:
    """Return the words of a text."""
    return frozenset(text.split())


_IN_SHELLS = names(
    """
    ! . : alias bg bind break builtin case cd command continue coproc declare dirs disown do done elif else
    enable esac eval exec exit export fc fg fi for function getopts hash history if in jobs let local logout
    mapfile popd pushd read readarray readonly return select set shift shopt source suspend then time times trap
    type typeset ulimit umask unalias unset until wait while
    """
)
"""Words that mean something to a shell only."""
INTERPRETERS = names(
    """
    abcl agda ant arturo ash autoexpect awk b2 bash bb bc-sh bconsole bjam blender bmake boot bpftrace bpython bun
    bundle bundler bunx byebug cabal ccl chez chibi-scheme cling clisp clj clojure cmake cmd cobc conda convert coq
    coqtop cpan cqlsh crash crystal cscli cscript csh csi d8 dart dash deno dialog doit dotnet dtrace dub duckdb
    dvips ecl elixir elvish emacs-lisp eqn erl escript eslint expect fab falcon ffmpeg ffplay fish flake8 forth gawk
    gforth ghci ghostscript gimp ginsh gjs gmake gnuplot gosh gp gracket groff groovy grunt gs gst guild guile gulp
    hatch identify idris iex influx inkscape iptables-restore ipython ipython3 irb java jbang jest jim jimsh jjs
    jjsh joker jruby jrunscript jsc jshell jtag julia jupyter just jython kdialog kotlin kotlinc ksh latex latexmk
    lein lerna lfe lua luajit lualatex luatex lush m4 mage magick make mamba matlab mawk maxima micropython mill
    mit-scheme mix mkdocs mksh mocha mogrify mongo mongosh mono mplayer mpv mruby msfconsole mypy mysqlsh nawk nft
    ngs nickle nim nimrod ninja nmake node nodejs nox nroff nu nx ocaml octave octave-cli oksh openscad osascript
    osqueryi pandoc pd pdflatex pdftex pdksh pdm perl perl6 perlbug perldoc php php-cgi php-fpm phpdbg pic picoc
    pike pipenv pmake posh povray powershell powershell_ise prettier prove pry ps2pdf psql ptpython pwsh pylint pypy
    pytest python qjs r racket rails rake raku rbash rc rdmd rebar3 redis-cli redo regina remake rexx rhino rollup
    root ros rscript rspec ruby runghc runhaskell sage sbcl sbt scala scala-cli scheme scheme48 scilab scons sh slsh
    soelim sphinx-build sqlite sqlite3 stack stap swift swiftc swipl systemtap taskfile tasksh tbl tcc tcl tclsh
    tcsh tea tex tox troff truffleruby ts-node tsc tsx tup turbo uv vite vitest vlang vlc waf webpack whiptail wish
    wscript wsl xelatex xetex xonsh yash zenity zig zsh
    """
)
"""Programs that run what a file or an argument says."""

WRAPPERS = names(
    """
    aa-exec ab3 abduco ack ag agetty anacron ansible aoss apply apport-cli apptainer asdf at autossh batch become
    broot bubblewrap busctl bwrap caffeinate cage calife callgrind capsh catatonit catchsegv cgexec ch-run
    charliecloud choom chpst chronic chroot chrt clush command coproc cpulimit crontab crun cssh daemon datefudge
    dbus-launch dbus-run-session dbus-send devbox dex direnv distrobox dmenu_run doas docker-init dotenv dsh dtach
    dumb-init dzdo eatmydata enroot entr env envdir envuidgid et exec execlineb fakechroot fakeroot fakeroot-ng
    fakeroot-tcp faketime fcron fd fdfind fex find firejail flock fswatch fzf gapplication gcore gdb gdbserver getty
    gosu gpg-agent gtk-launch guix heaptrack hugectl hyperfine i386 i686 ifne incrontab incus inetd inotifywait
    ionice kcachegrind keychain kioclient kstart ksu ladspa ld ld-linux ld-linux-x86-64.so ld.so ldd lddtree lf
    libfaketime linux-vdso linux32 linux64 lldb lldb-server login logsave ltrace lxc lxc-attach lxc-execute
    machinectl massif mips32 mise mock mosh mosh-server mpiexec mpirun multitail multitime ncat newgrp nice nix-env
    nix-shell nnn nodemon nodenv nohup nsenter nspawn numactl numad nvm openvt parallel pbuilder pdsh peco perf
    perf-record pexec pfexec pgrphack pkexec please ppc32 prelink prlimit proot pseudo pssh pv pyenv qemu-aarch64
    qemu-arm qemu-x86_64 ranger rbenv reflex rg ripgrep rlwrap rofi rosetta rr rtkit run-mailcap run-one run-parts
    run-this-one run0 runc runcon runit runsc runsv runsvdir runuser s390 s6-envdir s6-overlay-suexec s6-setuidgid
    s6-softlimit s6-svscan sbatch scanmem schedtool schroot screen script scriptreplay sem setarch setlock setpriv
    setsid setuidgid sg singularity sk socket softlimit sparc32 sponge srun ssh-add ssh-agent sshfs sshpass
    start-stop-daemon startx stdbuf strace su su-exec sudo sudoedit supervisord sux svlogd sway-launch switch_root
    systemd-inhibit systemd-nspawn systemd-run taskset tcpserver tcpsvd time timeout tini tmux toilet toolbox torify
    torsocks trace-cmd trickle tsocks ucspi udocker uftrace uname26 unbuffer uncontain unshare usleep valgrind viddy
    vidir vifm vipe volta watch watchexec watchman weston-launch wine x32 x86_64 xargs xdotool xinetd xinit xvfb-run
    youki zellij zrun zsoelim
    """
)
"""Programs that run another program, which their arguments name."""

MULTIPLEXERS = names(
    """
    7z 7za 7zr 7zz a2ps acme.sh adduser aee age aircrack-ng alacritty alien alpine ansible-galaxy ansible-playbook
    apk apt apt-get aptitude ar argocd aria2c arj ark as ascii-xfr asciinema at.allow aws axel az bat batcat bazel
    bettercap binwalk brave brew bsdcpio bsdtar buildah busybox byobu bzgrep bzless bzmore bzr c++ c89 c99
    cabal-install cargo cargo-install cc ccache cdist cdrecord certbot cfengine chat chef-client chef-solo chfn
    chisel chkconfig chrome chromium chsh clang clang++ cloudflared colima column-ed composer consul coreutils cpio
    cpp crackmapexec croc cron-apt crontabs cryptsetup csc csplit ctr cu cupsfilter curl curlie cvs darcs dd debconf
    debugfs debuild delta deluser diffmerge distcc dmsetup dnf docker docker-compose doctl dotnet-script dpkg
    dpkg-deb dpkg-reconfigure dropbear dte dumpcap e2fsck easy_install easyrsa eb ed editor ee elfedit elinks emacs
    emacsclient emerge enscript eopkg ettercap evince ex ex.basic exiftool exim exim4 exiv2 fetchmail file-roller
    firefox flatpak flatpak-spawn fluidsynth flux fly foot foremost fossil frpc fsck ftp ftpget fusermount g++ gcc
    gcc-ar gcc-nm gcloud gcov gdc gdmd gem genisoimage getmail gfortran gh ghcup git gitk glab glow gnome-terminal
    go google-chrome gotty gpasswd gpg gpg2 gpgsm gpgv gradle gradlew groupadd gsutil gtester guake gzexe halt
    hashcat hatchling helix helm helmfile heroku hg hping3 http httpie hub hunspell hx idle ifconfig ifort info init
    initctl insmod install install-info ip iptables ispell isql istioctl jar jarsigner javac jcmd jdb jed jj jmacs
    jmap joe john jstack k3s kadmin kak kdiff3 kexec keytool kill killall kind kitty knife konsole kubectl kustomize
    launchctl lazygit ld ld.gold ld.lld ldapmodify ldapsearch le less lesskey lesspipe lftp lha limactl links links2
    lldb-mi ln logrotate luarocks lvm lwp-download lwp-request lwp-rget lynx lzop machinectl magic-wormhole mail
    maildrop mailq mailx man mbsync mc mc.minio mcs mdadm mdcat meld mercurial mesg meson metasploit mg mh micro
    minicom minikube mkdict mkfifo mkfs mkisofs mknod mksquashfs mmv modprobe mono-csc more most mount mount.cifs
    msbuild msgexec msgfilter msmtp multipass mutt mv mvn mysql nala nano nasl nasm nc ncat ncftp ne neomutt neovim
    nerdctl netcat ngrep ngrok nikto nix nm nmap nmh nomad npm npx nullmailer nvi nvim nvim.appimage objcopy objdump
    oc offlineimap okular opam open openrc openssl openssl3 openvpn opkg packer pacman pager pass passwd patchelf
    pax pdb pear pecl pg pico picocom pidstat pine pip pipx pivot_root pkg pkg_add pkgin pkill pnpm podman poetry
    port portage postfix postqueue postsuper poweroff pppd prename prlctl procmail pulumi puppet qemu qemu-img
    qemu-system qmail rage rar rc-service rcctl rclone rcp rcs reboot red rename restic rexec rlogin rpm rpm2cpio
    rpmbuild rpmdb rpmquery rpmverify rsh rsync rtorrent rustc rustup rview rvim rxvt rz s3cmd salt salt-call
    samba-tool sash sccs scp screenie sed sendmail sendxmpp sensible-browser sensible-editor sensible-pager service
    setfacl sftp shred shutdown skopeo sl slackpkg smbclient smbmount snap snapcraft socat sops sort split sqlite
    sqlmap ssh ssh-copy-id ssh-keygen ssh-keyscan sshd ssmtp st star strongswan surf sv svcadm svn swaks swupd sx
    systemctl systemd-analyze sz talk tar tcpdump tcpflow tcpreplay tdbtool tee telinit telnet terminator termshot
    terraform tftp tig tilde tilix timidity tmate tmpreaper tmpwatch torbrowser-launcher toybox transmission-cli
    trap tshark ttyd ul umount uniq unrar unsquashfs unzip update-alternatives update-rc.d urxvt useradd usermod
    uucp uux uxterm vagrant varnishncsa vault vboxmanage vi vi.basic view vigr vim vim.basic vim.tiny vimdiff
    vimtutor vipw virsh virt-install visudo vmrun w3m wall wezterm wg-quick wget wget2 winexe wireshark wormhole
    write write.ul www-browser x-www-browser xbps-install xbuild xdg-open xdg-user-dir xfce4-terminal xh xmodmap
    xorriso xpad xpdf xterm xzgrep xzless xzmore yakuake yarn yasm yelp youtube-dl yt-dlp ytalk yum zathura zegrep
    zfgrep zgrep zile zip zless zmore zypper
    """
)
"""Programs that run others by an option, a setting or a sub-command, or that send and fetch."""


class CommandRefused(ValueError):
    """A command that cannot be run as it is written; the text says why."""


@dataclass(frozen=True, slots=True)
class WrittenCommand:
    """A command.

    Attributes:
        text: As it was written.
        words: Program and arguments; empty for shell text.
    """

    text: str
    words: tuple[str, ...] = ()


def read_command(text: str) -> WrittenCommand:
    """Read a command.

    Raises:
        CommandRefused: It is empty, too long, or has characters that people cannot see.
    """
    if not text.strip():
        raise CommandRefused("command: it is empty")
    if len(text) > COMMAND_CHARS:
        raise CommandRefused(f"command: it has {len(text)} characters; at most {COMMAND_CHARS} can be shown and run")
    refuse_unseen("command", text)
    if not _ARGV.fullmatch(text):
        return WrittenCommand(text)
    raw = _WORDS.findall(text)
    words = tuple(_QUOTED.sub(lambda found: found[1] if found[1] is not None else found[2], each) for each in raw)
    if not words[0] or words[0] in _IN_SHELLS or "=" in words[0]:
        return WrittenCommand(text)
    return WrittenCommand(text, words)


def refuse_unseen(what: str, text: str) -> None:
    """Refuse text with control, format or private characters but tab and line feed.

    Raises:
        CommandRefused: It has one.
    """
    found = next((each for each in text if each not in "\n\t" and unicodedata.category(each) in _UNSEEN), None)
    if found is not None:
        raise CommandRefused(f"{what}: it has the invisible character U+{ord(found):04X}; write it without")


def look_alikes(text: str) -> list[str]:
    """Return the names of the characters of a text that can pass for others, each once."""
    found = (unicodedata.name(each, f"U+{ord(each):04X}") for each in dict.fromkeys(text) if not each.isascii())
    return [each for each in found if each.startswith(_LOOK_ALIKES)]


def program_name(word: str) -> str:
    """Return the name that a program is known by: without folder and version, in lower case."""
    return _VERSION.sub("", word.rpartition("/")[2].lower())


def runs_others(words: tuple[str, ...]) -> str | None:
    """Return why a command can run what it does not name as its program; None when that is not known of it."""
    if not words:
        return "it is shell text"
    name = program_name(words[0])
    parts = [program_name(each) for each in re.split(r"[-._]", name)]
    known = {name, words[0].rpartition("/")[2].lower(), parts[0], parts[-1]}
    for kind, which in (("interpreter", INTERPRETERS), ("wrapper", WRAPPERS), ("multi-purpose program", MULTIPLEXERS)):
        if not known.isdisjoint(which):
            return f"{name} is an {kind}" if kind == "interpreter" else f"{name} is a {kind}"
    return None
