//! Words that show the purpose of forms and fields, in the languages of the labelled pages. Each list is separated by
//! bars.

use super::Form;

pub const LOGIN: &str = "\
    login|log-in|log in|log_in|signin|sign-in|sign in|sign_in|logon|log on|logga in|logg inn|log ind|anmelden|\
    einloggen|connexion|connecter|identifi|entrar|iniciar ses|iniciar-ses|acceder|acessar|accedi|inloggen|aanmelden|\
    zaloguj|logowanie|přihlásit|prihlás|prihlas|belépés|bejelentkez|autentific|вход|войти|авториз|увійти|влез|giriş|\
    oturum aç|kirjaudu|σύνδεση|ログイン|登录|登入|登陆|로그인|تسجيل الدخول|כניסה|เข้าสู่ระบบ|đăng nhập|masuk";
pub const REGISTRATION: &str = "\
    register|registr|signup|sign-up|sign up|sign_up|create account|create an account|create my account|\
    createaccount|create-account|create_account|new account|newaccount|new_user|newuser|new user|nouveau-membre|\
    nouveau membre|new-member|new member|newmember|neukunde|join now|join us|\
    join free|neues konto|konto erstellen|inscription|inscrire|s'inscri|créer un compte|créer mon compte|\
    crear cuenta|regístr|cadastr|criar conta|iscriviti|crea account|crea un account|crea il tuo|registreer|\
    account aanmaken|zarejestruj|załóż konto|regisztr|înregistr|зарегистр|регистр|зареєстр|kayıt ol|üye ol|\
    rekisteröi|opret|skapa konto|bli medlem|εγγραφή|会員登録|新規登録|注册|註冊|회원가입|đăng ký|สมัครสมาชิก|daftar";
/// Names of forms for a forgotten password.
pub const RECOVERY: &str = "\
    forgot|recover|lostpass|lost_pass|lost-pass|lost pass|reset|passwordremind|password_remind|remind|retrieve|\
    passwort vergessen|passwort-vergessen|oublié|oublie|olvid|recuper|esquec|dimenticat|vergeten|zapomn|zabud|\
    elfelejt|забыл|восстанов|забрав|glemt|glömt|unuttum|忘れ|忘记|忘記|new password|send password|neues passwort|\
    nové heslo";
/// Texts of such forms; whole phrases only, since many login forms have a link for a forgotten password.
pub const FORGOTTEN: &str = "\
    forgot|lost your password|lost password|reset your password|reset password|password reset|recover your password|\
    retrieve your password|send you a new password|passwort vergessen|passwort zurücksetzen|mot de passe oublié|\
    olvidó|olvidaste|olvidado|recuperar|esqueceu|esqueci|recupera|dimenticat|vergeten|zapomn|zabud|elfelejt|забыли|\
    восстановл|glemt|glömt|忘れ|忘记|忘記";
pub const SEARCH: &str = "\
    search|find|such|recherch|cherch|buscar|busca|búsqueda|busqueda|procur|pesquis|zoek|cerca|ricerca|trova|поиск|\
    найти|искать|пошук|szuk|wyszuk|hledat|hledej|vyhled|vyhľad|keres|caut|căut|ara|sök|søg|søk|haku|hae|αναζήτηση|\
    търс|搜|検索|검색|بحث|חיפוש|ค้นหา|tìm|cari";
pub const NEWSLETTER: &str = "\
    newsletter|news-letter|news_letter|subscri|mailing|mailchimp|mc-embedded|mc4wp|maillist|mail-list|abonn|abonner|\
    suscri|boletín|boletin|assin|iscrizione newsletter|nieuwsbrief|biuletyn|odběr|odoberat|hírlevél|рассыл|подпис|\
    абон|бюлетин|bülten|uutiskirje|nyhetsbrev|nyhedsbrev|optin|opt-in|email sign|emailsignup|email-sign|\
    email updates|メルマガ|订阅|訂閱";
pub const MAIL: &str = "\
    mail|correo|courriel|почт|メール|邮箱|邮件|信箱|이메일|adres e-";
/// Labels of the field for the user name.
pub const USER: &str = "\
    username|user name|user id|userid|e-mail|email|nickname|benutzer|nutzername|kundennummer|utilisateur|identifiant|\
    pseudo|usuario|usuário|utente|gebruiker|użytkownik|uživatel|užívateľ|felhasználó|utilizator|логин|пользовател|почт|\
    ник|потребител|kullanıcı|käyttäjä|användar|brukernavn|brugernavn|ユーザー|会員|メール|用户|用戶|账号|帳號|아이디|이메일|\
    اسم المستخدم|שם משתמש|ชื่อผู้ใช้|tên đăng nhập";
/// Names of fields for a one-time code.
pub const CODE: &str = "\
    otp|totp|one-time|one time|onetime|2fa|mfa|two-factor|twofactor|two_factor|authenticator|verification code|\
    verification_code|einmalcode|bestätigungscode|sicherheitscode aus|code à usage|código de verific|\
    codice di verifica|\
    auth_code|authcode|token_code|код подтверж|認証コード|验证码";
pub const ADDRESS: &str = "\
    address|street|city|zip|postal|postcode|state|country|straße|strasse|plz|ort|adresse|ville|dirección|ciudad|\
    endereço|cidade|indirizzo|città|город|адрес|индекс";
/// Fields that only a registration has.
pub const PERSONAL_DATA: &str = "\
    firstname|first name|first_name|first-name|fname|lastname|last name|last_name|last-name|surname|vorname|\
    nachname|prénom|prenom|apellido|sobrenome|cognome|voornaam|achternaam|imię|nazwisko|příjmení|jméno|фамилия|\
    gender|geschlecht|sex|civilit|birth|geburt|naissance|nacimiento|nascimento|dob|phone|telefon|teléfono|country|\
    zip|confirm|repeat|retype|again|wiederholen|captcha";
/// Names of fields of a registration.
pub const NEW_USER: &str = "new_user|newuser|new-user|reg_|register|registration|signup";
pub const CAPTCHA: &str = "captcha|verif|security code";
pub const TERMS: &str = "\
    agree|accept|terms|tos|agb|legal|privacy|datenschutz|conditions|condiciones|termos|условия|соглас|newsletter|\
    subscri|offers|optin|opt-in";
pub const REMEMBER: &str = "\
    remember|autologin|auto-login|auto_login|keep|stay|persist|cookie|merken|angemeldet|souvenir|rester|recordar|\
    recuérd|lembrar|ricorda|onthoud|zapamięt|zapamat|emlékez|запомн|husk|kom ihåg|hatırla|save|自動|记住";
/// Text fields of a login that are not the user name.
pub const NOT_USER_NAME: &str = "\
    captcha|pass|pwd|hint|code|otp|token|postcode|zip|hidden|search|security|verif|cookielength|minutes";

/// Whether the text contains one of the bar-separated words. Words of up to three Latin letters must be whole words.
pub fn contains_any(text: &str, words: &str) -> bool {
    let is_short = |word: &str| word.is_ascii() && word.len() <= MAX_WHOLE_WORD_LEN;
    words.split('|').any(|word| if is_short(word) { stands_alone(text, word) } else { text.contains(word) })
}

/// Words of this length or less are parts of many others: `ara` of `parameter`, `sex` of `Essex`.
const MAX_WHOLE_WORD_LEN: usize = 3;

fn stands_alone(text: &str, word: &str) -> bool {
    text.match_indices(word).any(|(at, _)| {
        let before = text[..at].chars().next_back();
        let after = text[at + word.len()..].chars().next();
        !before.is_some_and(char::is_alphanumeric) && !after.is_some_and(char::is_alphanumeric)
    })
}

/// The form's own words in lower case: its names, its action and its buttons.
pub fn self_description(form: &Form) -> String {
    let parts = [form.name.as_deref(), form.id.as_deref(), form.action.as_deref(), Some(form.hints.as_str())];
    let buttons = button_texts(form);
    let all: Vec<&str> = parts.into_iter().flatten().chain([buttons.as_str()]).collect();
    all.join(" ").to_lowercase()
}

/// The texts of its buttons, in lower case.
pub fn button_texts(form: &Form) -> String {
    let buttons = form.buttons.iter().take(MAX_BUTTONS);
    let said = buttons.flat_map(|button| [button.name.as_deref().unwrap_or_default(), button.text.as_str()]);
    said.collect::<Vec<_>>().join(" ").to_lowercase()
}

/// A form has a button or two; the further ones of a cart with one for each row, or of a hostile page, are ignored.
const MAX_BUTTONS: usize = 20;
